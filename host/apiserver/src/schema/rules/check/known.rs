//! The names that every expression knows: functions, macros and namespaces.

/// Functions that rules can call.
pub(super) const FUNCTIONS: &str = " abs add all allowed asApproximateFloat asInteger bitAnd bitNot bitOr bitShiftLeft \
    bitShiftRight bitXor bool bytes ceil charAt check cidr compareTo contains containsCIDR containsIP distinct \
    double duration dyn endsWith equivalent error errored escapeKey exists existsOne exists_one family fieldSelector filter find findAll first \
    flatten floor format getDate getDayOfMonth getDayOfWeek getDayOfYear getEscapedPath getFullYear getHost \
    getHostname getHours getMilliseconds getMinutes getMonth getPort getQuery getScheme getSeconds \
    greatest group has hasValue indexOf int intersects ip isCIDR isCanonical isFinite isGlobalUnicast \
    isGreaterThan isIP isInf isInteger isLessThan isLinkLocalMulticast isLinkLocalUnicast isLoopback isNaN \
    isQuantity isSemver isSorted isURL isUnspecified join labelSelector last lastIndexOf least lowerAscii major map \
    masked matches max min minor name named namespace none of ofNonZeroValue optFlatMap optMap or orValue patch path \
    prefixLength quantity quote range reason replace resource reverse round semver serviceAccount sets sign size slice sort sortBy split \
    sqrt startsWith string sub subresource substring sum timestamp transformList transformMap transformMapEntry trim \
    trunc type uint unwrap unwrapOpt upperAscii url validate value dns1035Label dns1035LabelPrefix \
    dns1123Label dns1123LabelPrefix dns1123Subdomain dns1123SubdomainPrefix qualifiedName labelValue uri \
    uuid byte date datetime ";
/// Names before a dot that belong to functions.
pub(super) const SPACES: [&str; 11] = [
    "base64",
    "cidr",
    "format",
    "google",
    "ip",
    "jsonpatch",
    "lists",
    "math",
    "optional",
    "sets",
    "strings",
];
/// Macros with names of their own that the parser leaves as calls.
pub(super) const MACROS: [&str; 10] = [
    "all",
    "exists",
    "existsOne",
    "exists_one",
    "optMap",
    "optFlatMap",
    "sortBy",
    "transformList",
    "transformMap",
    "transformMapEntry",
];
/// Functions that answer yes or no.
pub(super) const YES_NO: [&str; 14] = [
    "allowed",
    "contains",
    "endsWith",
    "errored",
    "hasValue",
    "isCIDR",
    "isGreaterThan",
    "isIP",
    "isLessThan",
    "isQuantity",
    "isSemver",
    "isSorted",
    "isURL",
    "startsWith",
];
