/**
 * `svcnet/k6`, for scripts that load a cluster. `svcnet load --script FILE` bundles it and passes the nodes; uploads are in
 * the run's ledger, times in its tables.
 */
export { streamChunks } from './chunks.js';
export { config, nodes, objects, uploaders } from './config.js';
export { contentOf } from './content.js';
export { download } from './downloads.js';
export { sendMessage } from './messages.js';
export { OperationError, operation } from './operations.js';
export { ask } from './requests.js';
export { uniqueContent, upload, uploadDirectory } from './uploads.js';
