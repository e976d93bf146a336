//! That every sentence of `docs/contract.md` is accounted for in `docs/verification.md`, and nothing
//! else is.

use std::collections::BTreeSet;

use super::{cited, document};

/// What a sentence's number begins with: its promise, or its section if that has none.
fn group(number: &str) -> &str {
    number.split('.').next().unwrap()
}

fn is_number(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let Some((group, sentence)) = word.split_once('.') else {
        return false;
    };
    digits(group.strip_prefix(['P', 'W', 'S', 'L']).unwrap_or(group)) && digits(sentence)
}

/// The contract from its promises on: what is before them are words.
fn promises() -> String {
    let contract = document("docs/contract.md");
    contract.split_once("\n## 2. Promises\n").unwrap().1.to_owned()
}

/// The number that a line of the contract begins with.
fn number_of(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = line.strip_prefix("- ").or_else(|| line.strip_prefix("| "))?;
    rest.split(' ').next().filter(|word| is_number(word))
}

/// The numbers of all sentences, as the contract has them.
fn sentences() -> Vec<String> {
    promises().lines().filter_map(number_of).map(str::to_owned).collect()
}

/// The rows of all tables whose head begins with this word, as cells.
fn rows(first: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut inside = false;
    for line in document("docs/verification.md").lines() {
        let Some(row) = line.strip_prefix("| ").and_then(|row| row.strip_suffix(" |")) else {
            inside &= line.starts_with("|-");
            continue;
        };
        let cells: Vec<String> = row.split(" | ").map(|cell| cell.trim().to_owned()).collect();
        if inside {
            rows.push(cells);
        } else {
            inside = cells[0] == first;
        }
    }
    rows
}

/// Whether the cell of a sentence says that a test shows it.
fn is_shown(cell: &str) -> bool {
    !cell.starts_with("reason:") && !cited(cell).is_empty()
}

#[test]
fn every_sentence_of_the_contract_has_a_number_and_they_are_in_order() {
    let mut unnumbered = Vec::new();
    for line in promises().lines().filter(|line| number_of(line).is_none()) {
        let is_title = line.starts_with("#") || line.starts_with("- **");
        let is_head = line.starts_with("| number |") || line.starts_with("|-");
        if !(line.is_empty() || is_title || is_head || line == "Receipts:") {
            unnumbered.push(line.to_owned());
        }
    }
    assert!(unnumbered.is_empty(), "{unnumbered:#?}");
    let sentences = sentences();
    assert!(sentences.len() > 300, "{} sentences", sentences.len());
    let mut last = (String::new(), 0);
    let mut groups = BTreeSet::new();
    for sentence in sentences {
        let n: u32 = sentence.rsplit('.').next().unwrap().parse().unwrap();
        if last.0 != group(&sentence) {
            last = (group(&sentence).to_owned(), 0);
            assert!(groups.insert(last.0.clone()), "{sentence} is away from its promise");
        }
        last.1 += 1;
        assert_eq!(n, last.1, "{sentence}");
    }
}

#[test]
fn every_sentence_of_the_contract_has_a_row_with_a_test_or_a_reason() {
    let (rows, sentences) = (rows("sentence"), sentences());
    let mut wrong = Vec::new();
    for sentence in &sentences {
        let mine: Vec<_> = rows.iter().filter(|row| row[0] == *sentence).collect();
        match mine.as_slice() {
            [row] if row.len() == 2 => {
                let reason = row[1].strip_prefix("reason:").map_or("", str::trim);
                if reason.is_empty() && !is_shown(&row[1]) {
                    wrong.push(format!("{sentence}: neither a test nor a reason: {}", row[1]));
                }
            }
            [row] => wrong.push(format!("{sentence}: {} columns", row.len())),
            _ => wrong.push(format!("{sentence}: {} rows", mine.len())),
        }
    }
    for row in rows.iter().filter(|row| !sentences.contains(&row[0])) {
        wrong.push(format!("{}: there is no such sentence", row[0]));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_promise_of_the_contract_has_its_row_with_all_columns_filled() {
    let (table, rows) = (rows("number"), rows("sentence"));
    let groups: BTreeSet<String> = sentences().iter().map(|one| group(one).to_owned()).collect();
    for group_of in &groups {
        let mine: Vec<_> = table.iter().filter(|row| row[0] == *group_of).collect();
        assert_eq!(mine.len(), 1, "rows of {group_of}");
        let cells = mine[0];
        assert_eq!(cells.len(), 5, "columns of {group_of}");
        assert!(cells.iter().all(|cell| !cell.is_empty()), "{group_of} has an empty column");
        let has_tests = !cited(&cells[2]).is_empty();
        assert_ne!(has_tests, cells[2] == "pending", "{group_of}: tests, or pending");
        let of_group = |row: &&Vec<String>| group(&row[0]) == group_of;
        let shown = rows.iter().filter(of_group).any(|row| is_shown(&row[1]));
        assert_eq!(has_tests, shown, "{group_of}: its row and its sentences disagree");
    }
    for row in table {
        assert!(groups.contains(&row[0]), "{} is no promise and no section", row[0]);
    }
}

#[test]
fn the_figures_of_the_verification_are_right() {
    let rows = rows("sentence");
    let shown = rows.iter().filter(|row| is_shown(&row[1])).count();
    let figures = format!(
        "Of {} sentences, {shown} are shown by a test and {} have a reason.",
        rows.len(),
        rows.len() - shown
    );
    assert!(document("docs/verification.md").contains(&figures), "it should say: {figures}");
}
