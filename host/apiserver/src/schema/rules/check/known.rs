//! The names that every expression knows: functions, macros and namespaces.

/// Functions that rules can call: those of the real server, apart from `sortBy`, `transformList`, `transformMap` and
/// `transformMapEntry`.
pub(crate) const FUNCTIONS: &str = " add all allowed asApproximateFloat asInteger bool byte bytes charAt check cidr compareTo contains \
    containsCIDR containsIP date datetime distinct dns1035Label dns1035LabelPrefix dns1123Label \
    dns1123LabelPrefix dns1123Subdomain dns1123SubdomainPrefix double duration dyn endsWith equivalent \
    error errored escapeKey exists exists_one existsOne family fieldSelector filter find findAll first \
    flatten format getDate getDayOfMonth getDayOfWeek getDayOfYear getEscapedPath getFullYear getHost \
    getHostname getHours getMilliseconds getMinutes getMonth getPort getQuery getScheme getSeconds \
    group has hasValue indexOf int intersects ip isCanonical isCIDR isGlobalUnicast isGreaterThan \
    isInteger isIP isLessThan isLinkLocalMulticast isLinkLocalUnicast isLoopback isQuantity isSemver \
    isSorted isUnspecified isURL join labelSelector labelValue last lastIndexOf lowerAscii major map \
    masked matches max min minor name named namespace none of ofNonZeroValue optFlatMap optMap or \
    orValue patch path prefixLength qualifiedName quantity quote range reason replace resource reverse \
    semver serviceAccount sign size slice sort split startsWith string sub subresource substring sum \
    timestamp trim type uint unwrap unwrapOpt upperAscii uri url uuid validate value ";
/// Names before a dot that belong to functions.
pub(super) const SPACES: [&str; 8] = [
    "format",
    "google",
    "ip",
    "jsonpatch",
    "lists",
    "optional",
    "sets",
    "strings",
];
/// Macros with names of their own that the parser leaves as calls.
pub(super) const MACROS: [&str; 6] = [
    "all",
    "exists",
    "existsOne",
    "exists_one",
    "optMap",
    "optFlatMap",
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
