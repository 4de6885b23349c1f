import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { PARTITIONS } from '@runledger/contracts/deliveries/deliveries';
import { waitFor } from '@runledger/testing/time/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { holdPartitions, type HeldPartitions } from '../../../src/partitions/hold-partitions.ts';
import { aLog, type TestLog } from '@runledger/event-log/test/fixtures/test-log';

const ttlMs = 1_500;
const everything = Array.from({ length: PARTITIONS }, (_, share) => share);

let test: TestLog;
beforeAll(async () => {
  test = await aLog();
});
afterAll(() => test[Symbol.asyncDispose]());

/** Members of one service in this process, each with its own connection, and a watch that no two hold the same share. */
const aService = (name: string, on: TestLog = test) => {
  const holders = new Map<number, string>();
  const overlaps: string[] = [];
  const until = (over: AbortSignal): Promise<unknown> =>
    new Promise((resolve) => over.addEventListener('abort', resolve, { once: true }));
  const join = async (holder: string): Promise<HeldPartitions & { readonly log: EventLog }> => {
    const log = await on.open();
    const sharing = holdPartitions(
      log,
      { name, partitions: PARTITIONS, holder, ttlMs },
      async (share, over) => {
        const other = holders.get(share);
        if (other !== undefined) overlaps.push(`${share}: ${other} and ${holder}`);
        holders.set(share, holder);
        await until(over);
        if (holders.get(share) === holder) holders.delete(share);
      },
    );
    return Object.assign(sharing, { log });
  };
  return { join, overlaps };
};

const sizes = (...sharings: readonly HeldPartitions[]): number[] =>
  sharings.map((sharing) => sharing.held().length).toSorted((one, other) => other - one);

/** Everything is held, and as evenly as can be. */
const divided = (...sharings: readonly HeldPartitions[]): Promise<true> =>
  waitFor(`a fair division among ${sharings.length}`, () => {
    const held = sharings.flatMap((sharing) => sharing.held());
    const [most = 0] = sizes(...sharings);
    const isFair = most - (sizes(...sharings).at(-1) ?? 0) <= 1;
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

describe('shares', () => {
  it('are all held by one who is alone, and divided evenly when others come and go', async () => {
    const { join, overlaps } = aService('come-and-go');
    await using first = await join('first');
    await divided(first);
    expect(first.held()).toEqual(everything);
    await using second = await join('second');
    await divided(first, second);
    expect(sizes(first, second)).toEqual([8, 8]);
    const third = await join('third');
    await divided(first, second, third);
    expect(sizes(first, second, third)).toEqual([6, 5, 5]);
    await third[Symbol.asyncDispose]();
    expect(third.held()).toEqual([]);
    await divided(first, second);
    await second[Symbol.asyncDispose]();
    await divided(first);
    expect(overlaps).toEqual([]);
    await waitFor(
      'the memberships that ended to leave nothing behind',
      async () => (await memberKeys(test, 'come-and-go')).length === 1,
    );
  });

  it('cost one write for each member and nothing for each share while nothing changes', async () => {
    const { join } = aService('idle');
    await using one = await join('one');
    await using other = await join('other');
    await divided(one, other);
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

  it('are handed over only when their holder has wound down', async () => {
    const mayEnd = Promise.withResolvers<void>();
    const asked: number[] = [];
    await using slow = holdPartitions(
      await test.open(),
      { name: 'slow', partitions: 2, holder: 'slow', ttlMs },
      async (share, over) => {
        await new Promise((resolve) => over.addEventListener('abort', resolve, { once: true }));
        asked.push(share);
        await mayEnd.promise;
      },
    );
    await waitFor('both to be held', () => slow.held().length === 2);
    const taken: number[] = [];
    await using next = holdPartitions(
      await test.open(),
      { name: 'slow', partitions: 2, holder: 'next', ttlMs },
      async (share, over) => {
        taken.push(share);
        await new Promise((resolve) => over.addEventListener('abort', resolve, { once: true }));
      },
    );
    await waitFor('one to be asked for', () => asked.length === 1);
    const before = await keysOf(test, 'slow');
    // Far more renewals than a dead holder would be given.
    await waitFor('the members to be renewed for longer than the time to live', async () =>
      [...(await keysOf(test, 'slow'))].some(([key, now]) => now > (before.get(key) ?? 0) + 10),
    );
    expect([slow.held(), taken]).toEqual([[0, 1], []]);
    mayEnd.resolve();
    await waitFor('it to be handed over', () => next.held().length === 1);
    expect([slow.held(), taken]).toEqual([[0], [1]]);
  });

  it('are taken whatever stands in a claim, unless a member that lives wrote it', async () => {
    await test.log.js.publish('$KV.LEASES.claimed.partition.0', 'nobody');
    await test.log.js.publish('$KV.LEASES.claimed.partition.1', new Uint8Array([0xff]));
    await test.log.js.publish('$KV.LEASES.claimed.partition.2', 'a.b c *');
    await test.log.js.publish('$KV.LEASES.claimed.partition.99', 'nobody');
    await test.log.js.publish('$KV.LEASES.claimed.member', 'no name');
    await using sharing = await aService('claimed').join('one.example: *');
    await divided(sharing);
    expect(sharing.held()).toEqual(everything);
  });

  it('are given back when holding throws, and taken again', async () => {
    let tries = 0;
    await using sharing = holdPartitions(
      await test.open(),
      { name: 'throws', partitions: 1, holder: 'one', ttlMs },
      async (_share, over) => {
        tries += 1;
        if (tries === 1) throw new Error('not yet');
        await new Promise((resolve) => over.addEventListener('abort', resolve, { once: true }));
      },
    );
    await waitFor('a second try that holds', () => tries === 2 && sharing.held().length === 1);
  });

  it('are let go when the connection is closed, which is told', async () => {
    const { join, overlaps } = aService('closed');
    await using closed = await join('closed');
    await divided(closed);
    await using other = await join('other');
    await divided(closed, other);
    await closed.log.nc.close();
    expect(await closed.failed).toBeInstanceOf(Error);
    expect(closed.held()).toEqual([]);
    await divided(other);
    expect(overlaps).toEqual([]);
  });
});

describe('when the broker is away', () => {
  it('shares have one holder each after it was killed and is back, soon or late', async () => {
    await using broken = await aLog();
    const { join, overlaps } = aService('broken', broken);
    await using one = await join('one');
    await using other = await join('other');
    await divided(one, other);

    await broken.nats.kill9();
    await broken.nats.restart();
    await using third = await join('third');
    await divided(one, other, third);

    await broken.nats.kill9();
    await waitFor('everything to be let go', () => [one, other, third].every((s) => s.held().length === 0));
    await broken.nats.restart();
    await divided(one, other, third);
    expect(overlaps).toEqual([]);
    await waitFor(
      'the lost memberships to leave nothing behind',
      async () => (await memberKeys(broken, 'broken')).length === 3,
    );
  }, 60_000);

  it.each(['killed', 'frozen'] as const)('a sharing stops nevertheless: %s', async (how) => {
    await using broken = await aLog();
    const one = await aService('stop', broken).join('one');
    await divided(one);
    await (how === 'killed' ? broken.nats.kill9() : broken.nats.pause());
    await one[Symbol.asyncDispose]();
    expect(one.held()).toEqual([]);
    broken.nats.resume();
  });
});

interface Child extends AsyncDisposable {
  readonly held: ReadonlySet<number>;
  /** How often it was told to let go. */
  overs(): number;
  kill(signal: NodeJS.Signals): void;
}

const aProcess = (name: string): Child => {
  const fixture = fileURLToPath(new URL('fixtures/share-holder.ts', import.meta.url));
  const child = spawn(process.execPath, [fixture, test.nats.url, name, String(PARTITIONS), String(ttlMs)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const held = new Set<number>();
  let overs = 0;
  createInterface({ input: child.stdout }).on('line', (line) => {
    const [what, share] = line.split(' ');
    if (what === 'held') held.add(Number(share));
    else if (held.delete(Number(share))) overs += 1;
  });
  return {
    held,
    overs: () => overs,
    kill: (signal) => void child.kill(signal),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
};

describe('a process', () => {
  it('that is killed is taken over from', async () => {
    await using child = aProcess('killed');
    await waitFor('the child to hold everything', () => child.held.size === PARTITIONS);
    await using heir = await aService('killed').join('heir');
    await waitFor('half of it', () => heir.held().length === PARTITIONS / 2);
    child.kill('SIGKILL');
    await divided(heir);
    await waitFor(
      'the dead to leave nothing behind',
      async () => (await memberKeys(test, 'killed')).length === 1,
    );
  });

  it('that was frozen for too long lets go of everything, and takes part again', async () => {
    await using child = aProcess('frozen');
    await waitFor('the child to hold everything', () => child.held.size === PARTITIONS);
    await using other = await aService('frozen').join('other');
    await waitFor(
      'half of it',
      () => other.held().length === PARTITIONS / 2 && child.held.size === PARTITIONS / 2,
    );
    const before = child.overs();
    child.kill('SIGSTOP');
    await divided(other);
    child.kill('SIGCONT');
    await waitFor('the child to let go', () => child.overs() >= before + PARTITIONS / 2);
    await waitFor(
      'a fair division',
      () =>
        child.held.size === PARTITIONS / 2 &&
        everything.every((share) => child.held.has(share) !== other.held().includes(share)),
    );
  });
});
