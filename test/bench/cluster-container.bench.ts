import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchResult } from './result.ts';

export const name = 'A whole network in one container, from docker run until healthy';

const NODES = [5, 20];
const ROUNDS = 3;
const IMAGE = 'svcnet-bench-container';
const LIMIT_MS = 120_000;
const MB = 1e6;

export async function run(): Promise<BenchResult[]> {
  build();
  try {
    const rows: BenchResult[] = [
      { name: 'image', value: Number(docker('inspect', '-f', '{{.Size}}', IMAGE)) / MB, unit: 'MB' },
    ];
    for (const nodes of NODES) {
      const rounds: Round[] = [];
      for (let round = 0; round < ROUNDS; round++) rounds.push(await oneRound(nodes));
      // The quickest of several: other work of the machine only adds.
      const least = (of: keyof Round) => Math.min(...rounds.map((each) => each[of]));
      rows.push(
        { name: `${nodes} nodes: usable, as the container says`, value: least('usableMs'), unit: 'ms' },
        { name: `${nodes} nodes: healthy`, value: least('healthyMs'), unit: 'ms' },
        { name: `${nodes} nodes: docker stop`, value: least('stopMs'), unit: 'ms' },
      );
    }
    return rows;
  } finally {
    docker('rmi', IMAGE);
  }
}

/** The packages are installed: a registry's time is not measured. */
function build(): void {
  const environment = { ...process.env, DOCKER_BUILDKIT: '0' };
  execFileSync(
    'docker',
    ['build', '-q', '-f', 'node/Dockerfile', '--build-arg', 'DEPENDENCIES=copied', '-t', IMAGE, '.'],
    { env: environment, stdio: ['ignore', 'ignore', 'inherit'] },
  );
}

interface Round {
  readonly usableMs: number;
  readonly healthyMs: number;
  readonly stopMs: number;
}

async function oneRound(nodes: number): Promise<Round> {
  const began = performance.now();
  const id = docker('run', '-d', IMAGE, 'network', '--nodes', String(nodes), '--seed', '7');
  try {
    while (docker('inspect', '-f', '{{.State.Health.Status}}', id) !== 'healthy') {
      if (performance.now() - began > LIMIT_MS) throw new Error(`${nodes} nodes have not become healthy`);
      await sleep(50);
    }
    const healthyMs = performance.now() - began;
    const { timings } = JSON.parse(docker('exec', id, 'cat', '/data/network.json')) as {
      timings: { totalMs: number };
    };
    const asked = performance.now();
    docker('stop', id);
    return { usableMs: timings.totalMs, healthyMs, stopMs: performance.now() - asked };
  } finally {
    docker('rm', '-fv', id);
  }
}

function docker(...args: string[]): string {
  return execFileSync('docker', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
}
