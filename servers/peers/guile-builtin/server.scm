;; Guile's built-in web server with the json protocol, on the listening socket whose descriptor is
;; the program's argument. The server's own loop takes one request at a time.
(use-modules (rnrs bytevectors)
             (srfi srfi-19)
             (web request)
             (web response)
             (web server)
             (web uri))

(define (header request content-type)
  `((server . "heddle")
    (date . ,(current-date 0))
    (content-type . (,content-type))
    ,@(if (memq 'close (request-connection request '()))
          '((connection . (close)))
          '())))

;; As a bytevector: to a string Guile adds a charset.
(define (greeting)
  (string->utf8 (string-append "{\"message\":\"" "Hello, World!" "\"}")))

(define (answer request body)
  (if (string=? (uri-path (request-uri request)) "/json")
      (values (build-response #:headers (header request 'application/json)) (greeting))
      (values (build-response #:code 404 #:headers (header request 'text/plain))
              (string->utf8 "Not Found\n"))))

(define (main descriptor)
  (run-server answer 'http `(#:socket ,(fdopen descriptor "r+0"))))

(main (string->number (cadr (command-line))))
