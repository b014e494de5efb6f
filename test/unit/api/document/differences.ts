/**
 * Between the document of the interface and what the node serves in the `svc` dialect, each with its reason. One that is no
 * longer found fails the test.
 */
export const DIFFERENCES: readonly (readonly [difference: RegExp, reason: string])[] = [
  // Operations.
  [
    /^HEAD \/(health|readiness|metrics|robots\.txt)?: not in the document$/,
    'probes and crawlers ask so; HEAD is GET without its body',
  ],
  [/^HEAD \/svc\/\{reference\}\/\{path\}: not in the document$/, 'as HEAD /svc/{reference}, which it has'],
  [
    /^(GET \/(accounting|stake|stake\/withdrawable|status\/neighborhoods|debugstore|metrics|robots\.txt|rchash\/\S+|batches\/\{batch_id\})?|DELETE \/stake\/withdrawable|POST \/wallet\/withdraw\/\{coin\}|PATCH \/stamps\/\{batch_id\}): not in the document$/,
    "the document says that further operations are not shown; clients of today's networks ask them",
  ],
  [/^GET \/manifest\/\{reference\}\/\{prefix\}: not in the document$/, 'of a later release'],
  [/^GET \/openapi\.json: not in the document$/, 'describes the interface to machines'],
  // Inputs.
  [
    /: header (range|if-[a-z-]+) is read, too$/,
    'HTTP: ranges and conditions of downloads, RFC 9110; the document shows no condition for them',
  ],
  [/: header accept is read, too$/, 'a browser needs the slash of a collection for relative links'],
  [/: header svc-lookahead-buffer-size is read, too$/, 'changes the speed of a download, not its answer'],
  [
    /^(GET|HEAD) \/(soc|feeds|svc|bytes)\/\S+: header svc-(redundancy-(level|strategy|fallback-mode)|chunk-retrieval-timeout|cache) is read, too$/,
    'every download reads all headers of downloads, and HEAD those of GET',
  ],
  [/^(GET \/grantee\/\S+|HEAD \/chunks\/\S+): header svc-cache is read, too$/, 'every read knows the cache'],
  [
    /^GET \/svc\/\{reference\}\/\{path\}: header svc-act-[a-z-]+ is read, too$/,
    'access control for a file of a collection as for its root',
  ],
  [/^POST \/bytes: header svc-act(-history-address)? is read, too$/, 'access control for bytes as for files'],
  [
    /^POST \/(soc|feeds)\/\S+: header svc-(tag|pin|deferred-upload) is read, too$/,
    'later nodes of the public network read them, and so do their clients',
  ],
  [/: header gas-limit is read, too$/, 'wherever a gas price may be given, so may the limit'],
  [/^PATCH \/stamps\/\S+: header gas-price is read, too$/, 'topping up and diluting pay as buying does'],
  [
    /^(POST \/(feeds\/\S+|pss\/send\/\S+|svc)|GET \/chunks\/stream): header svc-postage-batch-id: required true instead of undefined$/,
    'the document does not say whether it is required; without it nothing can be stamped',
  ],
  [
    /^POST \/soc\/\S+: header svc-postage-batch-id: required undefined instead of true$/,
    'the document has a ready stamp beside it, which replaces it; without both the answer is 400',
  ],
  [
    /^GET \/(feeds\/\S+: query type|stamps: query all): default /,
    'the document shows no default: it is what leaving the parameter out means',
  ],
  [/^POST \/stamps\/\S+: query label: default /, 'the document shows no default: a batch has no label then'],
  [/^GET \/feeds\/\S+: query after: minimum 0 /, 'indexes of a feed begin at 0'],
  [
    /^POST \/chequebook\/\S+: query amount: type string instead of integer$/,
    'amounts exceed the integers that JSON readers keep; the text is that of the integer',
  ],
  [/^POST \/tags: the body is optional$/, 'it has nothing to say, and clients of today send none'],
  // Successes.
  [/^(GET|HEAD) \/(bytes|svc|soc|feeds)\/\S+: success (206|304), too$/, 'ranges and conditions, RFC 9110'],
  [
    /^(GET|HEAD) \/svc\/\S+: success 308, too$/,
    'to the form with a slash: for browsers at the root, for all at a directory of a collection',
  ],
  [
    /^GET \/(chunks\/stream|pss\/subscribe\/\S+|gsoc\/subscribe\/\S+): (no success 200|success 101, too)$/,
    'RFC 6455: a connection that becomes a WebSocket is answered with 101',
  ],
  // Errors.
  [/^GET \/chequebook\/cheque: no error 404$/, 'without cheques the list is empty'],
  [/^GET \/stamps: no error 404$/, 'without batches the list is empty'],
  [/^GET \/stewardship\/\S+: no error 404$/, 'content that cannot be had is the answer false'],
  [/^GET \/loggers: no error 400$/, 'it has no input that could be wrong'],
  [/^GET \/status(\/peers)?: no error 400$/, 'it has no input that could be wrong'],
  // Headers of answers.
  [
    /^(GET|HEAD) \/(bytes|svc|soc|feeds)\/\S+: answers header (content-(type|length|range)|accept-ranges|etag|last-modified), too$/,
    'HTTP: content, ranges and validators, RFC 9110; the document shows them for HEAD of bytes alone',
  ],
  [
    /^(GET|HEAD) \/svc\/\S+: answers header (content-disposition|location|vary), too$/,
    "HTTP: the file's name, the form with a slash, and what the redirect depends on",
  ],
  [
    /: answers header access-control-expose-headers, too$/,
    'without it, pages of other origins read none of the headers that the document lists',
  ],
  [
    /^(GET|HEAD) \/(svc|feeds)\/\S+: answers header svc-feed-(index|resolved-version), too$/,
    'which update of a feed was read; clients of today read it',
  ],
  [
    /^POST \/bytes: answers header svc-act-history-address, too$/,
    'access control for bytes as for files; sent with access control alone',
  ],
  [/^POST \/soc\/\S+: answers header svc-tag, too$/, 'sent to those who ask for a tag, as header svc-tag'],
  [/^(POST \/tags|GET \/tags\/\{uid\}): answers header cache-control, too$/, 'progress is never cached'],
  // Fields.
  [/^GET \/addresses: field chain_address is there, too$/, 'the name that clients of today read'],
  [
    /^GET \/(balances|consumed): field (balances|peerData\.\*\.(consumedBalance|currentThreshold(Given|Received))) is there, too$/,
    'the list that clients of today read, and the rest of an account',
  ],
  [/^GET \/batches: field batches\.\[\]\.immutable is there, too$/, 'the name that clients of today read'],
  [/^GET \/stamps\S*: field (stamps\.\[\]\.)?utilizationRatio is there, too$/, 'clients of today show it'],
  [
    /^GET \/stamps\S*: field (stamps\.\[\]\.)?displaced is there, too$/,
    'a mutable batch that starts again displaces its oldest chunks, and nothing else would say so',
  ],
  [
    /^GET \/redistributionstate: field (isHealthy|lastSampleDurationSeconds) is there, too$/,
    'clients of today require it',
  ],
  [
    /^GET \/status\S*: field (stamps\.\[\]\.)?(snapshots|batchCommitment|committedDepth|isWarmingUp|lastSyncedBlock|overlay|reserveSizeWithinRadius) is there, too$/,
    'clients of today require it',
  ],
  [/^GET \/topology: field lightNodes is there, too$/, 'clients of today require it'],
  [
    /^GET \/topology: field bins\.\*\.(connected|disconnected)Peers\.\[\]\.metrics may be missing$/,
    'light nodes have no place in a bin, and no metrics; the shape is shared',
  ],
  [
    /^POST \/welcome-message: field (code|message) is there, too$/,
    'an acknowledgement as every other operation gives',
  ],
];
