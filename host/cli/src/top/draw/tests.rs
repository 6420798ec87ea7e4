use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::super::state::{Asked, Next};
use super::*;
use windlass_controller::metrics::ReconciledKind;
use windlass_host::status::{KeyStatus, Passes, PluginDetails, PluginStatus, Status, Warning};

fn plugin(name: &str, depth: usize) -> PluginStatus {
    PluginStatus {
        name: name.into(),
        state: "running".into(),
        version: Some("0.1.0".into()),
        reconciles: vec![ReconciledKind {
            api_version: "examples.windlass.dev/v1".into(),
            kind: "Greeting".into(),
        }],
        depth,
        paused: 2,
        passes: Passes {
            total: 7,
            ..Passes::default()
        },
        warnings: vec![Warning {
            reason: "HotLoop".into(),
            message: "look".into(),
        }],
        ..PluginStatus::default()
    }
}

fn status() -> Status {
    Status {
        api_version: String::new(),
        kind: String::new(),
        host: "host_1".into(),
        version: "0.1.0".into(),
        up_ms: 180_000,
        problems: vec!["a.yaml: no YAML".into()],
        plugins: vec![plugin("calm", 0), plugin("busy", 9)],
    }
}

fn details() -> PluginDetails {
    let key = |name: &str, error: Option<&str>| KeyStatus {
        api_version: "examples.windlass.dev/v1".into(),
        kind: "Greeting".into(),
        namespace: Some("n".into()),
        name: name.into(),
        took_us: 3_000,
        failures: u32::from(error.is_some()),
        since: None,
        next_ms: error.map(|_| 20_000),
        returned: "rest".into(),
        error: error.map(str::to_owned),
    };
    PluginDetails {
        api_version: String::new(),
        kind: String::new(),
        status: plugin("busy", 9),
        failing: vec![key("ada", Some("no luck"))],
        slowest: vec![key("bob", None)],
        unused_grants: Vec::new(),
    }
}

/// What the screen shows, line by line.
fn screen_text(screen: &Screen) -> String {
    let mut terminal = Terminal::new(TestBackend::new(120, 14)).unwrap();
    terminal.draw(|frame| draw(screen, frame)).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let width = usize::from(buffer.area.width);
    let lines = buffer.content.chunks(width).map(|line| {
        let line: String = line.iter().map(|cell| cell.symbol()).collect();
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn press(screen: &mut Screen, code: KeyCode) -> Next {
    screen.key(KeyEvent::new(code, KeyModifiers::NONE))
}

#[test]
fn from_all_plugins_to_one_to_an_object_and_back() {
    let mut screen = Screen::new(status());
    let overview = screen_text(&screen);
    for line in [
        "windlass 0.1.0 on host_1, up 3 min",
        "a.yaml: no YAML",
        "busy: HotLoop: look",
        "calm  running  Greeting",
        "s sort (by NAME)",
    ] {
        assert!(overview.contains(line), "{line:?} is not in\n{overview}");
    }
    assert_eq!(press(&mut screen, KeyCode::Char('s')), Next::Nothing);
    let sorted = screen_text(&screen);
    let at = |name: &str| sorted.find(&format!("\n{name}  running"));
    assert!(at("busy") < at("calm"), "{sorted}");
    assert_eq!(press(&mut screen, KeyCode::Enter), Next::Look);
    assert_eq!(screen.view(), &View::Plugin("busy".into()));
    screen.takes(Ok(Asked::Plugin(Box::new(details()))));
    let one = screen_text(&screen);
    for line in [
        "busy   running, 7 passes, 0 failed; now failing: 0, paused: 2",
        "FAILING  Greeting n/ada  3 ms  1         20 s  no luck",
        "SLOWEST  Greeting n/bob",
    ] {
        assert!(one.contains(line), "{line:?} is not in\n{one}");
    }
    press(&mut screen, KeyCode::Down);
    assert_eq!(press(&mut screen, KeyCode::Enter), Next::Look);
    let View::Object { query, .. } = screen.view() else {
        panic!("{:?}", screen.view());
    };
    assert_eq!(
        query,
        "kind=Greeting.examples.windlass.dev&namespace=n&name=bob"
    );
    screen.takes(Ok(Asked::Object(
        "Greeting/n/bob\nSTATE      all is done\n".into(),
    )));
    assert!(screen_text(&screen).contains("STATE      all is done"));
    assert_eq!(press(&mut screen, KeyCode::Esc), Next::Look);
    assert_eq!(screen.selected, 1, "one comes back to where one was");
    press(&mut screen, KeyCode::Esc);
    assert_eq!(screen.view(), &View::Plugins);
    assert_eq!(press(&mut screen, KeyCode::Esc), Next::Quit);
}

#[test]
fn what_is_known_stays_when_the_host_gives_no_answer() {
    let mut screen = Screen::new(status());
    screen.takes(Err("no host answers".into()));
    let shown_then = screen_text(&screen);
    assert!(
        shown_then.contains("no host answers") && shown_then.contains("calm"),
        "{shown_then}"
    );
    let mut fewer = status();
    screen.selected = 1;
    fewer.plugins.truncate(1);
    screen.takes(Ok(Asked::Status(fewer)));
    assert_eq!((screen.selected, &screen.problem), (0, &None));
}

#[test]
fn keys_that_mean_nothing_do_nothing_and_a_narrow_terminal_is_no_harm() {
    let mut screen = Screen::new(Status {
        plugins: Vec::new(),
        ..status()
    });
    for code in [
        KeyCode::Enter,
        KeyCode::Down,
        KeyCode::End,
        KeyCode::Char('x'),
        KeyCode::Tab,
    ] {
        assert_eq!(press(&mut screen, code), Next::Nothing);
    }
    let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(screen.key(control_c), Next::Quit);
    for (width, height) in [(1, 1), (5, 3), (20, 2)] {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(&screen, frame)).unwrap();
    }
}
