#!/usr/bin/env node
/** Entry point of the published package. Old Node.js versions can parse this file and report which version is needed. */
const NEEDED = 24;

const version = process.versions.node;
if (Number(version.split('.')[0]) >= NEEDED) {
  await (await import('./cli.ts')).main();
} else {
  process.stderr.write(`svcnet needs Node.js ${NEEDED} or newer, this is ${version} (${process.execPath})\n`);
  process.exitCode = 2;
}
