#!/usr/bin/env node
/** Entry point of the published package. Old Node.js versions can parse this file and report which version is needed. */
const NEEDED = '24.9';

const version = process.versions.node;
const [major = 0, minor = 0] = version.split('.').map(Number);
const [neededMajor = 0, neededMinor = 0] = NEEDED.split('.').map(Number);
if (major > neededMajor || (major === neededMajor && minor >= neededMinor)) {
  await (await import('./cli.ts')).main();
} else {
  process.stderr.write(`svcnet needs Node.js ${NEEDED} or newer, this is ${version} (${process.execPath})\n`);
  process.exitCode = 2;
}
