module heddle/peers

go 1.19
