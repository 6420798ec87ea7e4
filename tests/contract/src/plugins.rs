//! The table of admission plugins in `docs/dev-server.md`: each plugin that the server has is tested by the scenarios
//! that its row names.

const HEAD: &str = "| plugin | here | scenarios |";
const LEFT_OUT: &str = "left out";

/// What is wrong with the table in a text, where `scenarios` are all there are.
pub fn faults(text: &str, scenarios: &[String]) -> Vec<String> {
    let lines = text.lines().skip_while(|line| *line != HEAD).skip(2);
    let rows: Vec<&str> = lines.take_while(|line| line.starts_with('|')).collect();
    if rows.is_empty() {
        return vec![format!("there is no table {HEAD}")];
    }
    rows.into_iter()
        .flat_map(|row| of_row(row, scenarios))
        .collect()
}

fn of_row(row: &str, scenarios: &[String]) -> Vec<String> {
    let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
    let [plugin, here, named] = cells[..] else {
        return vec![format!("{row} has not three cells")];
    };
    let names: Vec<&str> = named.split('`').skip(1).step_by(2).collect();
    match (here.starts_with(LEFT_OUT), names.is_empty()) {
        (true, false) => return vec![format!("{plugin} is left out, and has scenarios")],
        (false, true) => return vec![format!("{plugin} is there, and no scenario tests it")],
        _ => {}
    }
    let unknown = names
        .iter()
        .filter(|name| !scenarios.iter().any(|held| held == *name));
    unknown
        .map(|name| format!("{plugin}: there is no scenario {name}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite;

    #[test]
    fn every_admission_plugin_has_a_scenario() {
        let page = suite::folder().join("../../docs/dev-server.md");
        let text = std::fs::read_to_string(page).unwrap();
        let scenarios = suite::scenarios().unwrap();
        let titles: Vec<String> = scenarios.iter().map(|one| one.title()).collect();
        assert_eq!(faults(&text, &titles), [""; 0]);
    }

    #[test]
    fn a_row_without_a_scenario_is_found() {
        let scenarios = ["a/b".to_owned()];
        for (row, wrong) in [
            ("| P | same | `a/b` |", 0),
            ("| P | left out: why | |", 0),
            ("| P | same | |", 1),
            ("| P | same | `a/b`, `a/c` |", 1),
            ("| P | left out: why | `a/b` |", 1),
            ("| P | same |", 1),
            ("", 1),
        ] {
            let text = format!("words\n{HEAD}\n|---|---|---|\n{row}\n\nmore\n");
            assert_eq!(faults(&text, &scenarios).len(), wrong, "{row}");
        }
        assert_eq!(faults("no table", &scenarios).len(), 1);
    }
}
