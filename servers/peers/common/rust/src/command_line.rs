use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

const MOST_WORKERS: u64 = 1024;

/// A NAME=VALUE word that a protocol takes.
pub enum Parameter {
    /// A whole number: name, what holds unless the command line says otherwise, least, most.
    Number(&'static str, u64, u64, u64),
    /// One of these words, the first unless the command line says otherwise.
    Choice(&'static str, &'static [&'static str]),
}

impl Parameter {
    fn name(&self) -> &'static str {
        match self {
            Parameter::Number(name, ..) | Parameter::Choice(name, _) => name,
        }
    }

    fn standard(&self) -> String {
        match self {
            Parameter::Number(_, standard, ..) => standard.to_string(),
            Parameter::Choice(_, choices) => choices[0].to_string(),
        }
    }

    fn allowed(&self) -> String {
        match self {
            Parameter::Number(_, _, least, most) => whole_number(*least, *most),
            Parameter::Choice(_, choices) => choices.join(" or "),
        }
    }

    fn allows(&self, text: &str) -> bool {
        match self {
            Parameter::Number(_, _, least, most) => number_in(text, *least, *most).is_some(),
            Parameter::Choice(_, choices) => choices.contains(&text),
        }
    }
}

/// What `BINARY HOST PORT WORKERS [NAME=VALUE...]` asked for, checked.
pub struct CommandLine {
    /// The binary's name without its folder.
    pub program: String,
    /// Port 0: the system chooses one.
    pub address: SocketAddr,
    pub workers: usize,
    values: HashMap<&'static str, String>,
}

impl CommandLine {
    /// The value of a parameter that has a range. Panics if the protocol has no such parameter.
    pub fn number(&self, name: &str) -> u64 {
        self.values[name].parse().expect("a checked number")
    }

    /// The value of a parameter of words. Panics if the protocol has no such parameter.
    pub fn choice(&self, name: &str) -> &str {
        &self.values[name]
    }

    /// Ends the process on bad input, with one line on standard error that says what was wrong and
    /// what is allowed (status 2), and on --help (status 0).
    pub(crate) fn of_process(parameters: &[Parameter]) -> CommandLine {
        let mut words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
        let program = base_name(&words.next().unwrap_or_default());
        let words: Vec<String> = words.collect();
        if words.iter().any(|word| word == "--help" || word == "-h") {
            print!("{}", help(&program, parameters));
            std::process::exit(0);
        }
        parse(&program, &words, parameters).unwrap_or_else(|problem| {
            let usage = usage(&program, parameters);
            eprintln!("{}: {}; usage: {}", program, printable(&problem), usage);
            std::process::exit(2);
        })
    }
}

fn parse(program: &str, words: &[String], parameters: &[Parameter]) -> Result<CommandLine, String> {
    if let Some(option) = words.iter().find(|word| word.starts_with("--")) {
        return Err(format!("option {} is unknown", option));
    }
    if let Some(name) = ["HOST", "PORT", "WORKERS"].get(words.len()) {
        return Err(format!("{} is missing", name));
    }
    let port = number_in(&words[1], 0, 65535)
        .ok_or_else(|| not_allowed("PORT", &words[1], &whole_number(0, 65535)))?;
    let workers = number_in(&words[2], 1, MOST_WORKERS)
        .ok_or_else(|| not_allowed("WORKERS", &words[2], &whole_number(1, MOST_WORKERS)))?;
    let host: IpAddr = words[0].parse().map_err(|_| {
        not_allowed(
            "HOST",
            &words[0],
            "an address in digits such as 127.0.0.1 or ::1",
        )
    })?;
    let mut values: HashMap<_, _> = parameters
        .iter()
        .map(|known| (known.name(), known.standard()))
        .collect();
    for word in &words[3..] {
        let (name, value) = parse_parameter(word, parameters)?;
        values.insert(name, value);
    }
    let program = program.to_string();
    let address = SocketAddr::new(host, port as u16);
    Ok(CommandLine {
        program,
        address,
        workers: workers as usize,
        values,
    })
}

fn parse_parameter(word: &str, parameters: &[Parameter]) -> Result<(&'static str, String), String> {
    if let Some((name, value)) = word.split_once('=') {
        if let Some(known) = parameters.iter().find(|known| known.name() == name) {
            return match known.allows(value) {
                true => Ok((known.name(), value.to_string())),
                false => Err(not_allowed(name, value, &known.allowed())),
            };
        }
    }
    if parameters.is_empty() {
        return Err(format!("\"{}\" is too much", word));
    }
    let described = parameters
        .iter()
        .map(|known| format!("{} ({})", known.name(), known.allowed()));
    let described = described.collect::<Vec<_>>().join(", ");
    Err(format!(
        "\"{}\" is no NAME=VALUE that is known; allowed: {}",
        word, described
    ))
}

fn number_in(text: &str, least: u64, most: u64) -> Option<u64> {
    let is_digits = text.bytes().all(|letter| letter.is_ascii_digit()); // parse takes a sign
    let number = text.parse().ok().filter(|_| is_digits)?;
    (least <= number && number <= most).then(|| number)
}

fn whole_number(least: u64, most: u64) -> String {
    format!("a whole number from {} to {}", least, most)
}

fn not_allowed(name: &str, value: &str, allowed: &str) -> String {
    format!("{} is \"{}\" but must be {}", name, value, allowed)
}

fn base_name(path: &str) -> String {
    let name = Path::new(path).file_name();
    name.map_or_else(
        || "peer".to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// A line stays a line, whatever was typed.
fn printable(text: &str) -> String {
    text.replace(|letter: char| letter.is_ascii_control(), "?")
}

fn usage(program: &str, parameters: &[Parameter]) -> String {
    let more = if parameters.is_empty() {
        ""
    } else {
        " [NAME=VALUE...]"
    };
    format!("{} HOST PORT WORKERS{}", program, more)
}

fn help(program: &str, parameters: &[Parameter]) -> String {
    let mut text = format!(
        "{} HOST PORT WORKERS [NAME=VALUE...]
  HOST     IPv4 or IPv6 address in digits
  PORT     0 to 65535; 0: the system chooses, see standard output
  WORKERS  threads of the runtime, 1 to {}\n",
        program, MOST_WORKERS
    );
    for known in parameters {
        text += &format!(
            "  {}={}  {}\n",
            known.name(),
            known.standard(),
            known.allowed()
        );
    }
    text
}
