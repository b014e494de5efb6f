/**
 * `svcnet/k6`: what a k6 script uses to load a cluster. `svcnet load --script FILE` bundles it into the
 * script and passes it the nodes; what it uploads is in the ledger of the run, what it times in its tables.
 */
export { streamChunks } from './chunks.js';
export { config, nodes, objects, uploaders } from './config.js';
export { contentOf } from './content.js';
export { download } from './downloads.js';
export { sendMessage } from './messages.js';
export { OperationError, operation } from './operations.js';
export { ask } from './requests.js';
export { uniqueContent, upload, uploadDirectory } from './uploads.js';
