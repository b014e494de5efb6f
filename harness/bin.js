#!/usr/bin/env node
/**
 * Entry point of the package and of a clone's scripts: plain JavaScript, so that an old Node.js can name the needed version.
 */
const NEEDED = '24.9';

const version = process.versions.node;
const [major = 0, minor = 0] = version.split('.').map(Number);
const [neededMajor = 0, neededMinor = 0] = NEEDED.split('.').map(Number);
const { bun, deno } = process.versions;
const other = bun === undefined ? deno && `Deno ${deno}` : `Bun ${bun}`;
if (other !== undefined) {
  process.stderr.write(`svcnet needs Node.js ${NEEDED} or newer, this is ${other} (${process.execPath})\n`);
  process.exitCode = 2;
} else if (typeof WebAssembly === 'undefined') {
  process.stderr.write('svcnet needs WebAssembly: run Node.js without --jitless (NODE_OPTIONS)\n');
  process.exitCode = 2;
} else if (Object.isFrozen(Object.prototype)) {
  process.stderr.write('svcnet cannot run with --frozen-intrinsics: run Node.js without it (NODE_OPTIONS)\n');
  process.exitCode = 2;
} else if ('permission' in process && !process.permission.has('fs.read', import.meta.dirname)) {
  process.stderr.write(
    'svcnet cannot read its own files: run Node.js without --permission (NODE_OPTIONS), or with --allow-fs-read=*\n',
  );
  process.exitCode = 2;
} else if (major > neededMajor || (major === neededMajor && minor >= neededMinor)) {
  const cli = await import('./cli.ts').catch((error) => {
    if (error.code !== 'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING') throw error;
    process.stderr.write(
      'svcnet: this package was packed from the sources, which do not run below node_modules. In the clone: npm run build && npm pack ./dist\n',
    );
    process.exitCode = 2;
  });
  await cli?.main();
} else {
  const clone = import.meta.url.includes('/node_modules/')
    ? ''
    : '; npm run svcnet -- uses the one that npm ci installs (not with ignore-scripts or NODE_ENV=production)';
  process.stderr.write(
    `svcnet needs Node.js ${NEEDED} or newer, this is ${version} (${process.execPath})${clone}\n`,
  );
  process.exitCode = 2;
}
