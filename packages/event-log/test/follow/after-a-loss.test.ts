import { createInbox, nanos } from '@nats-io/transport-node';
import type { ExecutorId } from '@runledger/contracts/ids';
import { runEventSubject } from '@runledger/contracts/events/subjects';
import { tcpProxy } from '@runledger/testing/servers/tcp-proxy';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { append } from '../../src/append/append.ts';
import { consume, done, ConsumerInUse, retryIn, ConsumerTakenOver } from '../../src/follow/consume.ts';
import type { Owner } from '../../src/follow/consumer-owner.ts';
import { createOwnedConsumer } from '../../src/follow/open-consumer.ts';
import { head } from '../../src/read/read-run.ts';
import type { EventLog } from '../../src/connect/event-log.ts';
import { silentLogger } from '../../src/connect/observability.ts';
import { aLog, type TestLog } from '../fixtures/test-log.ts';
import { aRun, assigned, EXECUTOR, OTHER_EXECUTOR, queued } from '@runledger/testing/run-events';

import { stored } from '../fixtures/stored.ts';
import { consumerOf, history } from '../fixtures/consumed-runs.ts';

let test: TestLog;
let log: EventLog;
beforeAll(async () => {
  test = await aLog();
  log = test.log;
});
afterAll(() => test[Symbol.asyncDispose]());

const ownerOf = (executor: ExecutorId): Owner => ({
  id: executor,
  owns: (subject) => subject.endsWith(`.${executor}`),
  create: (wanted) => createOwnedConsumer(log, wanted),
});

describe('consume, after a loss', () => {
  it('reports that its consumer was deleted', async () => {
    const key = aRun();
    await using consumption = await consume(log, consumerOf('deleted', key), async () => done);
    await log.jsm.consumers.delete('RUNS', 'deleted');
    expect(await consumption.failed).toBeInstanceOf(Error);
    expect(consumption.state().ok).toBe(false);
  });

  describe.concurrent('gets again what the broker has delivered to a pull that was given up', () => {
    /** As the broker keeps one for a moment whose reader is gone. */
    const givenUp = async (consumer: string, batch: number, forMs: number) => {
      const inbox = createInbox();
      const delivered = log.nc.subscribe(inbox);
      const pull = JSON.stringify({ batch, expires: nanos(forMs) });
      log.nc.publish(`$JS.API.CONSUMER.MSG.NEXT.RUNS.${consumer}`, pull, { reply: inbox });
      await log.nc.flush();
      return delivered;
    };
    const readerOf = (name: string) => {
      const key = aRun();
      const seen: number[] = [];
      const interruptions: string[] = [];
      const logger = { ...silentLogger, warn: (_: object, text: string) => void interruptions.push(text) };
      const open = () =>
        consume({ ...log, logger }, consumerOf(name, key), async ({ sequence }) => {
          seen.push(sequence);
          return done;
        });
      return { key, seen, interruptions, open };
    };

    it('although nothing comes behind it', async () => {
      const { key, seen, open } = readerOf('given-up-last');
      await (await open())[Symbol.asyncDispose]();
      // The broker serves pulls in their order.
      const delivered = await givenUp('given-up-last', 1, 60_000);
      await using consumption = await open();
      const stored = await append(log, queued(key), 0);
      for await (const message of delivered) {
        expect(message.string()).toContain(key.run_id);
        break;
      }
      expect(seen).toEqual([]);
      await waitFor('the message', () => seen.length > 0);
      expect(seen).toEqual([stored.kind === 'appended' ? stored.sequence : 0]);
      expect(consumption.state()).toEqual({ ok: true });
    });

    it('with one interruption, since it begins again when that pull is over', async () => {
      const { key, seen, interruptions, open } = readerOf('given-up-between');
      await using consumption = await open();
      await givenUp('given-up-between', 100, 3_000);
      const sequences = await history(log, key);
      await waitFor('all messages', () => seen.length >= sequences.length);
      expect(seen.toSorted((a, b) => a - b).filter((one, at, all) => one !== all[at - 1])).toEqual(sequences);
      expect(interruptions).toEqual(['a consumer was interrupted; it continues']);
      expect(consumption.state()).toEqual({ ok: true });
    });
  });

  it('ends when another process takes over its consumer, and handles none of its messages', async () => {
    const key = aRun();
    const handled: Record<string, string[]> = { older: [], newer: [] };
    const open = (process: 'older' | 'newer', executor: ExecutorId) =>
      consume(
        log,
        {
          name: 'taken-over',
          stream: 'RUNS',
          subjects: [`runs.${key.org_id}.${key.run_id}.life.*.*.*.${executor}`],
          deliver: 'new',
          owner: ownerOf(executor),
        },
        async ({ subject }) => {
          handled[process]?.push(subject);
          return done;
        },
      );
    await using older = await open('older', EXECUTOR);
    await log.jsm.consumers.update('RUNS', 'taken-over', {
      filter_subject: `runs.${key.org_id}.${key.run_id}.life.*.*.*.${OTHER_EXECUTOR}`,
      metadata: { owner: OTHER_EXECUTOR },
    });
    const forOlder = assigned(key);
    const forNewer = assigned(key, { attempt: 2, executor: OTHER_EXECUTOR });
    const first = await append(log, queued(key), 0);
    const second = await append(log, forOlder, first.kind === 'appended' ? first.sequence : 0);
    await append(log, forNewer, second.kind === 'appended' ? second.sequence : 0);

    expect(await older.failed).toBeInstanceOf(ConsumerTakenOver);
    await using newer = await open('newer', OTHER_EXECUTOR);
    await expect
      .poll(() => handled, { timeout: 15_000 })
      .toEqual({ older: [], newer: [runEventSubject(forNewer)] });
    expect(newer.state()).toEqual({ ok: true });
    expect((await log.jsm.consumers.info('RUNS', 'taken-over')).config).toMatchObject({
      filter_subject: `runs.${key.org_id}.${key.run_id}.life.*.*.*.${OTHER_EXECUTOR}`,
      metadata: { owner: OTHER_EXECUTOR },
    });
  });

  it('opens for one of two processes that start at once, and fails for the other', async () => {
    const key = aRun();
    const logs = await Promise.all([test.open(), test.open()]);
    const opened = await Promise.allSettled(
      [EXECUTOR, OTHER_EXECUTOR].map((executor, at) =>
        consume(
          logs[at] ?? log,
          {
            ...consumerOf('contested', key),
            subjects: [`runs.*.${key.run_id}.life.*.*.*.${executor}`],
            owner: ownerOf(executor),
          },
          async () => done,
        ),
      ),
    );
    const [one, ...more] = opened.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const refused = opened.flatMap((result): unknown[] =>
      result.status === 'rejected' ? [result.reason] : [],
    );
    expect(more).toEqual([]);
    expect(refused).toEqual([expect.any(ConsumerInUse)]);
    expect(one?.state()).toEqual({ ok: true });
    await one?.[Symbol.asyncDispose]();
  });

  it('handles every message in order, whatever is lost on its way', async () => {
    await using proxy = await tcpProxy(() => test.nats.port);
    const { org_id } = aRun();
    const seen: number[] = [];
    const options = { ...consumerOf('cut-off', aRun()), subjects: [`runs.${org_id}.>`] };
    await using consumption = await consume(await test.open(proxy.url), options, async ({ sequence }) => {
      seen.push(sequence);
      return done;
    });
    const sequences: number[] = [];
    for (let cut = 1; cut <= 4; cut += 1) {
      proxy.loseNext('$JS.ACK.RUNS.cut-off.');
      for (let n = 0; n < 20; n += 1) sequences.push(await stored(log, queued({ ...aRun(), org_id }), 0));
      await waitFor('the loss', () => proxy.lost() === cut);
    }
    await waitFor('the last message', () => seen.at(-1) === sequences.at(-1));
    expect([...new Set(seen)]).toEqual(sequences);
    expect(consumption.state()).toEqual({ ok: true });
  });

  it('leaves an unfinished message to the next process', async () => {
    const key = aRun();
    await append(log, queued(key), 0);
    const begun = Promise.withResolvers<void>();
    const stopped = await consume(log, consumerOf('stopped', key), async () => {
      begun.resolve();
      return retryIn(3_600_000);
    });
    await begun.promise;
    await stopped[Symbol.asyncDispose]();

    const again = Promise.withResolvers<number>();
    await using open = new AsyncDisposableStack();
    open.use(
      await consume(log, consumerOf('stopped', key), async ({ sequence }) => {
        again.resolve(sequence);
        return done;
      }),
    );
    expect(await again.promise).toBe(await head(log, key));
  });
});
