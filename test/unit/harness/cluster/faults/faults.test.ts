import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HarnessError } from '../../../../../harness/base/errors.ts';
import { MACHINE_CLOCK } from '../../../../../harness/base/machine/clock.ts';
import { FAULT_JOURNAL, type FaultLine } from '../../../../../harness/cluster/faults/active.ts';
import type { FaultContext, FaultKind } from '../../../../../harness/cluster/faults/fault.ts';
import { effectText, hadEffect } from '../../../../../harness/cluster/faults/fault.ts';
import { Faults } from '../../../../../harness/cluster/faults/faults.ts';
import { LINK } from '../../../../../harness/cluster/faults/links/link.ts';
import { ISOLATE, PARTITION } from '../../../../../harness/cluster/faults/links/partition.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';

let folder = '';
beforeEach(() => void (folder = temporaryFolder('faults')));

let done: string[] = [];
const slow: FaultKind<{ node: string; ms: number }> = {
  name: 'slow',
  layer: 'machine',
  about: 'slows a node down',
  schema: z.strictObject({ node: z.string(), ms: z.int({ error: 'a whole number' }).default(5) }),
  text: ({ node, ms }) => `slows ${node} by ${ms} ms`,
  targets: ({ node }) => [node],
  begin(_context, { node }) {
    if (node === 'node-2') return Promise.reject(new Error('it is too fast'));
    done.push(`begin ${node}`);
    return Promise.resolve({ node });
  },
  effect(_context, { node }) {
    if (node === 'node-4') return Promise.reject(new Error('who counts is gone'));
    return Promise.resolve({ 'answers delayed': node === 'node-0' ? 3 : 0 });
  },
  end(_context, { node }) {
    if (node === 'node-1') return Promise.reject(new Error('it does not answer'));
    done.push(`end ${node}`);
    return Promise.resolve();
  },
};
const blink: FaultKind<{ node: string }> = {
  ...slow,
  name: 'blink',
  momentary: true,
  schema: z.strictObject({ node: z.string() }),
  text: ({ node }) => `makes ${node} blink`,
  begin: (_context, { node }) => Promise.resolve({ node }),
};
let stop: () => void = () => undefined;
const tour: FaultKind<{ node: string }> = {
  ...blink,
  name: 'tour',
  text: () => 'visits all',
  async begin(_context, _request, { signal, hold }) {
    for (const node of ['node-3', 'node-0', 'node-4']) {
      hold({ node, away: 1 });
      done.push(`begin ${node}`);
      if (node === 'node-0') stop();
      await Promise.resolve();
      signal.throwIfAborted();
    }
    return { node: 'node-4' };
  },
  stays: ({ node }) => (node === 'node-0' ? 'its data is gone' : undefined),
};
const stuck: FaultKind<{ node: string }> = {
  ...tour,
  name: 'stuck',
  begin(_context, { node }, { hold }) {
    hold({ node });
    return Promise.reject(new Error('it is too fast'));
  },
};
const paced: FaultKind<{ node: string }> = {
  ...slow,
  name: 'paced',
  sets: () => 'the pace',
  schema: blink.schema,
  text: () => 'paces',
};
const impossible: FaultKind<{ node: string }> = { ...blink, name: 'impossible', capability: 'memory' };

function faultGround(): FaultContext {
  const context = {
    name: 'net',
    clock: MACHINE_CLOCK,
    folder,
    nodes: Array.from({ length: 5 }, (_, index) => ({ name: `node-${index}`, tell: () => undefined })),
    chain: { tell: () => undefined },
    driver: { name: 'process', can: {} },
    node(name: string) {
      if (!/^node-[0-4]$/.test(name)) throw new Error(`no node '${name}'`);
      return {};
    },
  };
  return context as unknown as FaultContext;
}

function open(): Faults {
  done = [];
  return new Faults(faultGround(), [slow, blink, tour, stuck, paced, impossible]);
}

function journal(): FaultLine[] {
  const file = join(folder, FAULT_JOURNAL);
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as FaultLine);
}

describe('faults of a cluster', () => {
  it('are listed and healed by a process other than the one that began them', async () => {
    const began = await open().begin({ kind: 'slow', node: 'node-0' });
    expect(began).toMatchObject({
      id: 'f1',
      request: { kind: 'slow', node: 'node-0', ms: 5 },
      text: 'slows node-0 by 5 ms',
      effect: { 'answers delayed': 3 },
    });
    const other = open();
    expect(await other.list()).toEqual([began]);
    const [ended] = await other.heal();
    expect(ended).toEqual({ ...began, endAt: expect.any(Number) as number });
    expect(done).toEqual(['end node-0']);
    expect(await other.list()).toEqual([]);
    expect(journal().map(({ event, id }) => `${event} ${id}`)).toEqual(['begin f1', 'end f1']);
  });

  it('that set the same thing are refused while one of them is active', async () => {
    const faults = open();
    await faults.begin({ kind: 'slow', node: 'node-0' });
    await faults.begin({ kind: 'paced', node: 'node-0' });
    await expect(faults.begin({ kind: 'paced', node: 'node-3' })).rejects.toMatchObject({
      code: 'FAULT_REFUSED',
      message: 'fault paced: f2 (paces) has already changed the pace',
      hint: 'End it first: svcnet heal f2 --name net',
    });
    expect(faults.active.map(({ id }) => id)).toEqual(['f1', 'f2']);
    await faults.heal('f2');
    await expect(faults.begin({ kind: 'paced', node: 'node-3' })).resolves.toMatchObject({ id: 'f2' });
  });

  it('leave nothing where a cluster was that has been removed', async () => {
    rmSync(folder, { recursive: true });
    await expect(open().begin({ kind: 'slow', node: 'node-0' })).rejects.toMatchObject({
      code: 'CLUSTER_GONE',
      message: `cluster '${basename(folder)}' has been removed`,
    });
    expect(existsSync(folder)).toBe(false);
  });

  it('say why they failed half-way when that was the end of the cluster', async () => {
    const why = new HarnessError('NODE_STATE', 'node-1 is gone');
    const orphaned: FaultKind<{ node: string }> = {
      ...tour,
      begin(_context, { node }, { hold }) {
        hold({ node });
        rmSync(folder, { recursive: true });
        return Promise.reject(why);
      },
    };
    await expect(new Faults(faultGround(), [orphaned]).begin({ kind: 'tour', node: 'node-1' })).rejects.toBe(
      why,
    );
    expect(existsSync(folder)).toBe(false);
  });

  it('say so when the cluster is removed as they begin or end', async () => {
    const gone = { code: 'CLUSTER_GONE', message: `cluster '${basename(folder)}' has been removed` };
    const remove = () => rmSync(folder, { recursive: true });
    const late: FaultKind<{ node: string }> = {
      ...blink,
      name: 'late',
      effect: () => Promise.resolve(remove()).then(() => ({})),
    };
    await expect(
      new Faults(faultGround(), [late]).begin({ kind: 'late', node: 'node-0' }),
    ).rejects.toMatchObject(gone);
    mkdirSync(folder);
    const faults = open();
    await faults.begin({ kind: 'slow', node: 'node-0' });
    const healing = faults.heal();
    remove();
    await expect(healing).rejects.toMatchObject(gone);
    expect(existsSync(folder)).toBe(false);
  });

  it('are healed one by one or all at once, the latest first', async () => {
    const faults = open();
    await faults.begin({ kind: 'slow', node: 'node-0' });
    await faults.begin({ kind: 'slow', node: 'node-3' });
    await faults.begin({ kind: 'slow', node: 'node-0', ms: 7 });
    await faults.heal('f2');
    expect((await faults.list()).map(({ id }) => id)).toEqual(['f1', 'f3']);
    expect((await faults.heal()).map(({ id }) => id)).toEqual(['f3', 'f1']);
    await expect(faults.heal('f1')).rejects.toThrow("no fault 'f1' is active (none is)");
  });

  it('of different nodes are healed side by side, of one node the latest first', async () => {
    const first = Promise.withResolvers<void>();
    /** The latest ends only after the end of the first has begun. */
    const waiting: FaultKind<{ node: string; ms: number }> = {
      ...slow,
      async end(context, handle) {
        if (handle['node'] === 'node-0') first.resolve();
        else await first.promise;
        await slow.end(context, handle);
      },
    };
    done = [];
    const faults = new Faults(faultGround(), [waiting]);
    for (const [node, ms] of [
      ['node-0', 1],
      ['node-1', 2],
      ['node-3', 3],
      ['node-3', 4],
    ] as const) {
      await faults.begin({ kind: 'slow', node, ms });
    }
    await expect(faults.heal()).rejects.toThrow(/^cannot heal f2 [^;]*$/);
    expect(done.slice(4)).toEqual(['end node-0', 'end node-3', 'end node-3']);
    expect(faults.active.map(({ id }) => id)).toEqual(['f2']);
    expect(
      journal()
        .map(({ event, id }) => `${event} ${id}`)
        .slice(4),
    ).toEqual(['end f1', 'end f4', 'end f3']);
  });

  it('are healed before nodes start again, which may need what they have broken', async () => {
    const seen: FaultKind<{ node: string }> = {
      ...slow,
      schema: blink.schema,
      text: ({ node }) => `meets ${node}`,
    };
    let isCut = true;
    const cut: FaultKind<{ node: string }> = {
      ...seen,
      name: 'cut',
      end: () => Promise.resolve().then(() => void (isCut = false)),
    };
    const fallen: FaultKind<{ node: string }> = {
      ...seen,
      name: 'fallen',
      startsNodes: true,
      end: (_context, { node }) =>
        isCut ? Promise.reject(new Error(`${node} is not ready`)) : Promise.resolve(),
    };
    done = [];
    const faults = new Faults(faultGround(), [cut, fallen]);
    await faults.begin({ kind: 'cut', node: 'node-0' });
    await faults.begin({ kind: 'fallen', node: 'node-3' });
    await faults.begin({ kind: 'fallen', node: 'node-0' });
    expect((await faults.heal()).map(({ id }) => id)).toEqual(['f1', 'f3', 'f2']);
  });

  it('of nodes that joined are healed before these leave', async () => {
    let isDown = true;
    const fallen: FaultKind<{ node: string }> = {
      ...slow,
      name: 'fallen',
      schema: blink.schema,
      startsNodes: true,
      end: () => Promise.resolve().then(() => void (isDown = false)),
    };
    const visit: FaultKind<{ node: string }> = {
      ...fallen,
      name: 'visit',
      layer: 'members',
      targets: () => [],
      end: (_context, { node }) =>
        isDown ? Promise.reject(new Error(`f2 is active on ${node}`)) : Promise.resolve(),
    };
    const faults = new Faults(faultGround(), [fallen, visit]);
    await faults.begin({ kind: 'visit', node: 'node-3' });
    await faults.begin({ kind: 'fallen', node: 'node-3' });
    expect((await faults.heal()).map(({ id }) => id)).toEqual(['f2', 'f1']);
  });

  it('stay active when they cannot be ended, while the others are ended', async () => {
    const faults = open();
    await faults.begin({ kind: 'slow', node: 'node-0' });
    await faults.begin({ kind: 'slow', node: 'node-1' });
    await expect(faults.heal()).rejects.toThrow('cannot heal f2 (slows node-1 by 5 ms): it does not answer');
    expect((await faults.list()).map(({ id }) => id)).toEqual(['f2']);
  });

  it('are listed and healed even when their effect is unknown', async () => {
    const faults = open();
    await faults.begin({ kind: 'slow', node: 'node-4' });
    expect((await faults.list()).map(({ effect }) => effect)).toEqual([{}]);
    expect((await faults.heal()).map(({ id }) => id)).toEqual(['f1']);
    expect(await faults.list()).toEqual([]);
  });

  it('are ended when they are just being begun while those of this process are healed', async () => {
    const faults = open();
    const beginning = faults.begin({ kind: 'slow', node: 'node-0' });
    expect((await faults.healOwn()).map(({ id }) => id)).toEqual(['f1']);
    await beginning;
    expect(await faults.list()).toEqual([]);
  });

  it('are ended once when two calls ask for it at the same time', async () => {
    const faults = open();
    await faults.begin({ kind: 'slow', node: 'node-0' });
    const [one, other] = await Promise.all([faults.heal(), faults.heal()]);
    expect(other).toEqual(one);
    expect(done).toEqual(['begin node-0', 'end node-0']);
  });

  it('are not active afterwards when they end as they begin', async () => {
    const faults = open();
    const blinked = await faults.begin({ kind: 'blink', node: 'node-0' });
    expect(blinked.endAt).toBeDefined();
    expect(await faults.list()).toEqual([]);
    expect(faults.history).toEqual([blinked]);
  });

  it('leave nothing behind when they cannot be begun', async () => {
    const faults = open();
    await expect(faults.begin({ kind: 'slow', node: 'node-2' })).rejects.toThrow('it is too fast');
    expect(await faults.list()).toEqual([]);
    expect(journal()).toEqual([]);
  });

  it('undo what they have begun when stopped half-way, and say what remains', async () => {
    const faults = open();
    const interruption = new AbortController();
    stop = () => interruption.abort(new HarnessError('INTERRUPTED', 'interrupted by SIGINT'));
    const begun = faults.begin({ kind: 'tour', node: 'node-0' }, { signal: interruption.signal });
    await expect(begun).rejects.toMatchObject({
      code: 'INTERRUPTED',
      message: 'interrupted by SIGINT; f1 (visits all) is undone, but its data is gone',
    });
    expect(done).toEqual(['begin node-3', 'begin node-0', 'end node-0']);
    expect(await faults.list()).toEqual([]);
    expect(journal().map(({ event, id }) => `${event} ${id}`)).toEqual(['begin f1', 'end f1']);
  });

  it('are undone when interrupted just as they have begun', async () => {
    const faults = open();
    const interruption = new AbortController();
    const begun = faults.begin({ kind: 'slow', node: 'node-0' }, { signal: interruption.signal });
    interruption.abort(new HarnessError('INTERRUPTED', 'interrupted by SIGINT'));
    await expect(begun).rejects.toThrow('interrupted by SIGINT; f1 (slows node-0 by 5 ms) is undone');
    expect(done).toEqual(['begin node-0', 'end node-0']);
    expect(await faults.list()).toEqual([]);
  });

  it('are stopped while they are being begun when those of this process are healed', async () => {
    const faults = open();
    let healed: Promise<unknown> = Promise.resolve();
    stop = () => void (healed = faults.healOwn());
    await expect(faults.begin({ kind: 'tour', node: 'node-0' })).rejects.toThrow('f1 (visits all) is undone');
    await healed;
    expect(done.at(-1)).toBe('end node-0');
  });

  it('are neither undone nor begun any more once the cluster is being removed', async () => {
    const faults = open();
    await faults.begin({ kind: 'slow', node: 'node-0' });
    stop = () => faults.abandon();
    await expect(faults.begin({ kind: 'tour', node: 'node-0' })).rejects.toMatchObject({
      code: 'INTERRUPTED',
      message: "cluster 'net' is being removed",
    });
    await expect(faults.begin({ kind: 'slow', node: 'node-3' })).rejects.toThrow('is being removed');
    expect(done).toEqual(['begin node-0', 'begin node-3', 'begin node-0']);
  });

  it('stay when they fail half-way and cannot be undone, with the command that undoes them', async () => {
    const faults = open();
    await expect(faults.begin({ kind: 'stuck', node: 'node-1' })).rejects.toMatchObject({
      code: 'FAULT_REFUSED',
      message: 'it is too fast; f1 (visits all) is not undone: it does not answer',
      hint: 'Undo it with: svcnet heal f1 --name net',
    });
    expect((await faults.list()).map(({ id }) => id)).toEqual(['f1']);
  });

  it('are undone by another process when theirs has died half-way', async () => {
    const faults = open();
    const dead = new Promise<never>(() => undefined);
    stop = () => undefined;
    const dying: FaultKind<{ node: string }> = {
      ...tour,
      begin(_context, _request, { hold }) {
        hold({ node: 'node-0' });
        return dead;
      },
    };
    void new Faults(faultGround(), [dying]).begin({ kind: 'tour', node: 'node-0' });
    expect(faults.active.map(({ id }) => id)).toEqual(['f1']);
    await faults.heal('f1');
    expect(done).toEqual(['end node-0']);
  });

  it('end when their node has been removed, and undo nothing', async () => {
    const context = faultGround();
    const faults = new Faults(context, [slow]);
    done = [];
    await faults.begin({ kind: 'slow', node: 'node-1' });
    (context.nodes as unknown[]).splice(1, 1);
    done = [];
    expect(await faults.heal()).toMatchObject([{ id: 'f1', targets: ['node-1'] }]);
    expect([done, faults.active]).toEqual([[], []]);
  });

  it('refuse a request and say what is wrong with it', async () => {
    const faults = open();
    await expect(faults.begin({ kind: 'slw', node: 'node-0' })).rejects.toThrow(
      "no fault 'slw', did you mean 'slow'? (known: slow, blink, tour, stuck, paced, impossible)",
    );
    await expect(faults.begin({ kind: 'slow', node: 'node-0', ms: 1.5 })).rejects.toThrow(
      'fault slow: ms: got 1.5, expected a whole number',
    );
    await expect(faults.begin({ kind: 'slow', node: 'node-9' })).rejects.toThrow("no node 'node-9'");
    await expect(faults.begin({ kind: 'impossible', node: 'node-0' })).rejects.toThrow(
      'fault impossible: the process driver cannot do that',
    );
  });
});

describe('limits of memory', () => {
  it('are one at a time for each node, so that what was before comes back', async () => {
    const limits = new Map<string, number>();
    const limited = (name: string) => ({
      observe: () => Promise.resolve({ state: 'running' }),
      limitMemory(bytes: number) {
        const before = limits.get(name) ?? 0;
        limits.set(name, bytes);
        return Promise.resolve(before);
      },
    });
    const driver = { name: 'docker', can: { memory: {} } };
    const context = { ...faultGround(), driver, node: limited } as unknown as FaultContext;
    const faults = new Faults(context);
    await faults.begin({ kind: 'memory', node: 'node-0', limit: '512MiB' });
    await expect(faults.begin({ kind: 'memory', node: 'node-0', limit: '128MiB' })).rejects.toMatchObject({
      code: 'FAULT_REFUSED',
      message:
        'fault memory: f1 (limits the memory of node-0 to 536870912 bytes) has already changed the memory of node-0',
    });
    await faults.begin({ kind: 'memory', node: 'node-1', limit: '128MiB' });
    await faults.heal('f1');
    expect(Object.fromEntries(limits)).toEqual({ 'node-0': 0, 'node-1': 134_217_728 });
  });
});

describe('a fault of links', () => {
  it.each([
    [true, undefined],
    [false, expect.stringContaining('not known here which node opened a connection')],
  ])('says where it is unknown which node dials (known: %s)', (knowsDiallers, note) => {
    const driver = { can: { linkFaults: { links: () => ({ knowsDiallers }) } } };
    const context = { driver, linkProxy: () => undefined } as unknown as FaultContext;
    for (const kind of [LINK, PARTITION, ISOLATE]) expect(kind.note?.(context)).toEqual(note);
  });
});

describe('the effect of a fault', () => {
  it('is reported by its counters', () => {
    expect(effectText({ 'bytes delayed': 4096, 'connections cut': 0 })).toBe('4,096 bytes delayed');
    expect(effectText({ 'bytes delayed': 0 })).toBe('no effect');
    expect(effectText({ 'power cuts': 1, 'nodes that left for good': 1 })).toBe(
      '1 power cut, 1 node that left for good',
    );
    expect(hadEffect({ effect: { 'bytes delayed': 1 } })).toBe(true);
    expect(hadEffect({ effect: { 'bytes delayed': 0 } })).toBe(false);
    expect(hadEffect({ effect: { 'messages dropped': 0, 'messages met': 9 } })).toBe(false);
    expect(effectText({ 'messages dropped': 0, 'messages met': 9 })).toBe('no effect, 9 messages met');
  });
});
