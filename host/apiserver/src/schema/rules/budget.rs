//! What expressions may cost together (apiserver `pkg/apis/cel/config.go`).

/// What is said when it is spent.
pub(crate) const OVERSPENT: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// What may still be spent.
#[derive(Debug)]
pub(crate) struct Budget(u64);

impl Budget {
    /// Of all rules of an object, or of all expressions of a policy.
    pub(crate) fn of_rules() -> Self {
        Self(10_000_000)
    }

    /// Of all conditions on which a policy looks at a request.
    pub(crate) fn of_conditions() -> Self {
        Self(2_500_000)
    }

    /// Whether nothing is left.
    pub(crate) fn is_spent(&self) -> bool {
        self.0 == 0
    }

    /// Takes a cost from it.
    ///
    /// # Errors
    /// If less is left.
    pub(crate) fn spend(&mut self, cost: u64) -> Result<(), String> {
        self.0 = self.0.checked_sub(cost).ok_or(OVERSPENT)?;
        Ok(())
    }
}
