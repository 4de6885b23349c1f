import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { PARTITIONS } from '@runledger/contracts/deliveries/timers';
import { killWithParent } from '@runledger/local-servers/kill-with-parent';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { holdPartitions, type HeldPartitions } from '../../src/hold-partitions.ts';
import { aLog, aLogOnOwnBroker, type TestLog } from '@runledger/event-log/test/fixtures/test-log';

const ttlMs = 1_500;
const everything = Array.from({ length: PARTITIONS }, (_, partition) => partition);

let test: TestLog;
beforeAll(async () => {
  test = await aLog();
});
afterAll(() => test[Symbol.asyncDispose]());

/** Members of one service in this process, each with its own connection. Notes when two hold the same partition. */
const aService = (name: string, on: TestLog = test) => {
  const holders = new Map<number, string>();
  const overlaps: string[] = [];
  const until = (over: AbortSignal): Promise<unknown> =>
    new Promise((resolve) => over.addEventListener('abort', resolve, { once: true }));
  const join = async (holder: string): Promise<HeldPartitions & { readonly log: EventLog }> => {
    const log = await on.open();
    const held = holdPartitions(
      log,
      { name, partitions: PARTITIONS, holder, ttlMs },
      async (partition, over) => {
        const other = holders.get(partition);
        if (other !== undefined) overlaps.push(`${partition}: ${other} and ${holder}`);
        holders.set(partition, holder);
        await until(over);
        if (holders.get(partition) === holder) holders.delete(partition);
      },
    );
    return Object.assign(held, { log });
  };
  return { join, overlaps };
};

const sizes = (...all: readonly HeldPartitions[]): number[] =>
  all.map((member) => member.held().length).toSorted((one, other) => other - one);

/** Every partition is held, as evenly as possible. */
const assigned = (...all: readonly HeldPartitions[]): Promise<true> =>
  waitFor(`a fair assignment to ${all.length}`, () => {
    const held = all.flatMap((member) => member.held());
    const [most = 0] = sizes(...all);
    const isFair = most - (sizes(...all).at(-1) ?? 0) <= 1;
    return held.length === PARTITIONS && new Set(held).size === PARTITIONS && isFair;
  });

const keysOf = async ({ log }: TestLog, name: string): Promise<Map<string, number>> => {
  const filter = `$KV.LEASES.${name}.>`;
  const { state } = await log.jsm.streams.info('KV_LEASES', { subjects_filter: filter });
  const revisions = new Map<string, number>();
  for (const subject of Object.keys(state.subjects ?? {})) {
    const stored = await log.jsm.streams.getMessage('KV_LEASES', { last_by_subj: subject });
    if (stored) revisions.set(subject, stored.seq);
  }
  return revisions;
};

const memberKeys = async (of: TestLog, name: string): Promise<string[]> =>
  [...(await keysOf(of, name)).keys()].filter((subject) => subject.includes('.member.'));

describe('partitions', () => {
  it('are all held by a single member, and evenly when others come and go', async () => {
    const { join, overlaps } = aService('come-and-go');
    await using first = await join('first');
    await assigned(first);
    expect(first.held()).toEqual(everything);
    await using second = await join('second');
    await assigned(first, second);
    expect(sizes(first, second)).toEqual([8, 8]);
    const third = await join('third');
    await assigned(first, second, third);
    expect(sizes(first, second, third)).toEqual([6, 5, 5]);
    await third[Symbol.asyncDispose]();
    expect(third.held()).toEqual([]);
    await assigned(first, second);
    await second[Symbol.asyncDispose]();
    await assigned(first);
    expect(overlaps).toEqual([]);
    await waitFor(
      'the ended memberships to be removed',
      async () => (await memberKeys(test, 'come-and-go')).length === 1,
    );
  });

  it('cost one write for each member and none for each partition while nothing changes', async () => {
    const { join } = aService('idle');
    await using one = await join('one');
    await using other = await join('other');
    await assigned(one, other);
    const before = await keysOf(test, 'idle');
    await waitFor('each membership to be renewed', async () =>
      [...(await keysOf(test, 'idle'))].every(
        ([subject, revision]) => !subject.includes('.member.') || revision > (before.get(subject) ?? 0),
      ),
    );
    const claims = (revisions: Map<string, number>): Map<string, number> =>
      new Map([...revisions].filter(([subject]) => subject.includes('.partition.')));
    expect(claims(await keysOf(test, 'idle'))).toEqual(claims(before));
    expect(claims(before).size).toBe(PARTITIONS);
  });

  it('are handed over only after their holder has stopped working on them', async () => {
    const mayEnd = Promise.withResolvers<void>();
    const requested: number[] = [];
    await using slow = holdPartitions(
      await test.open(),
      { name: 'slow', partitions: 2, holder: 'slow', ttlMs },
      async (partition, over) => {
        await new Promise((resolve) => over.addEventListener('abort', resolve, { once: true }));
        requested.push(partition);
        await mayEnd.promise;
      },
    );
    await waitFor('both to be held', () => slow.held().length === 2);
    const taken: number[] = [];
    await using next = holdPartitions(
      await test.open(),
      { name: 'slow', partitions: 2, holder: 'next', ttlMs },
      async (partition, over) => {
        taken.push(partition);
        await new Promise((resolve) => over.addEventListener('abort', resolve, { once: true }));
      },
    );
    await waitFor('one to be requested', () => requested.length === 1);
    const before = await keysOf(test, 'slow');
    // Far more renewals than a dead holder would get.
    await waitFor('the members to be renewed for longer than the time to live', async () =>
      [...(await keysOf(test, 'slow'))].some(([key, now]) => now > (before.get(key) ?? 0) + 10),
    );
    expect([slow.held(), taken]).toEqual([[0, 1], []]);
    mayEnd.resolve();
    await waitFor('it to be handed over', () => next.held().length === 1);
    expect([slow.held(), taken]).toEqual([[0], [1]]);
  });

  it('are taken despite any claim that no living member wrote', async () => {
    await test.log.js.publish('$KV.LEASES.claimed.partition.0', 'nobody');
    await test.log.js.publish('$KV.LEASES.claimed.partition.1', new Uint8Array([0xff]));
    await test.log.js.publish('$KV.LEASES.claimed.partition.2', 'a.b c *');
    await test.log.js.publish('$KV.LEASES.claimed.partition.99', 'nobody');
    await test.log.js.publish('$KV.LEASES.claimed.member', 'no name');
    await using member = await aService('claimed').join('one.example: *');
    await assigned(member);
    expect(member.held()).toEqual(everything);
  });

  it('are given back when holding throws, and taken again', async () => {
    let tries = 0;
    await using member = holdPartitions(
      await test.open(),
      { name: 'throws', partitions: 1, holder: 'one', ttlMs },
      async (_partition, over) => {
        tries += 1;
        if (tries === 1) throw new Error('not yet');
        await new Promise((resolve) => over.addEventListener('abort', resolve, { once: true }));
      },
    );
    await waitFor('a second try that holds', () => tries === 2 && member.held().length === 1);
  });

  it('are released when the connection is closed, and the caller is notified', async () => {
    const { join, overlaps } = aService('closed');
    await using closed = await join('closed');
    await assigned(closed);
    await using other = await join('other');
    await assigned(closed, other);
    await closed.log.nc.close();
    expect(await closed.failed).toBeInstanceOf(Error);
    expect(closed.held()).toEqual([]);
    await assigned(other);
    expect(overlaps).toEqual([]);
  });
});

describe('while the broker is unavailable', () => {
  it('partitions have one holder each after a short or a long restart', async () => {
    await using broken = await aLogOnOwnBroker();
    const { join, overlaps } = aService('broken', broken);
    await using one = await join('one');
    await using other = await join('other');
    await assigned(one, other);

    await broken.nats.kill9();
    await broken.nats.restart();
    await using third = await join('third');
    await assigned(one, other, third);

    await broken.nats.kill9();
    await waitFor('every partition to be released', () =>
      [one, other, third].every((s) => s.held().length === 0),
    );
    await broken.nats.restart();
    await assigned(one, other, third);
    expect(overlaps).toEqual([]);
    await waitFor(
      'the lost memberships to be removed',
      async () => (await memberKeys(broken, 'broken')).length === 3,
    );
  }, 60_000);

  it.each(['killed', 'frozen'] as const)('holding stops also with a broker that was %s', async (how) => {
    await using broken = await aLogOnOwnBroker();
    const one = await aService('stop', broken).join('one');
    await assigned(one);
    await (how === 'killed' ? broken.nats.kill9() : broken.nats.pause());
    await one[Symbol.asyncDispose]();
    expect(one.held()).toEqual([]);
    broken.nats.resume();
  });
});

interface Child extends AsyncDisposable {
  readonly held: ReadonlySet<number>;
  /** How often it had to release a partition. */
  releases(): number;
  kill(signal: NodeJS.Signals): void;
}

const aProcess = (name: string): Child => {
  const fixture = fileURLToPath(new URL('fixtures/partition-holder.ts', import.meta.url));
  const login = JSON.stringify(test.nats.login);
  const child = spawn(process.execPath, [fixture, login, name, String(PARTITIONS), String(ttlMs)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  killWithParent(child);
  const exited = once(child, 'exit');
  const held = new Set<number>();
  let releases = 0;
  createInterface({ input: child.stdout }).on('line', (line) => {
    const [what, partition] = line.split(' ');
    if (what === 'held') held.add(Number(partition));
    else if (held.delete(Number(partition))) releases += 1;
  });
  return {
    held,
    releases: () => releases,
    kill: (signal) => void child.kill(signal),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
};

describe('a process', () => {
  it('that is killed loses its partitions to another', async () => {
    await using child = aProcess('killed');
    await waitFor('the child to hold every partition', () => child.held.size === PARTITIONS);
    await using successor = await aService('killed').join('successor');
    await waitFor('half of it', () => successor.held().length === PARTITIONS / 2);
    child.kill('SIGKILL');
    await assigned(successor);
    await waitFor(
      'the membership of the dead process to be removed',
      async () => (await memberKeys(test, 'killed')).length === 1,
    );
  });

  it('that was frozen for too long releases every partition, and takes part again', async () => {
    await using child = aProcess('frozen');
    await waitFor('the child to hold every partition', () => child.held.size === PARTITIONS);
    await using other = await aService('frozen').join('other');
    await waitFor(
      'half of it',
      () => other.held().length === PARTITIONS / 2 && child.held.size === PARTITIONS / 2,
    );
    const before = child.releases();
    child.kill('SIGSTOP');
    await assigned(other);
    child.kill('SIGCONT');
    await waitFor('the child to release them', () => child.releases() >= before + PARTITIONS / 2);
    await waitFor(
      'a fair assignment',
      () =>
        child.held.size === PARTITIONS / 2 &&
        everything.every((partition) => child.held.has(partition) !== other.held().includes(partition)),
    );
  });
});
