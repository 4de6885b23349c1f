import { executorId } from '@runledger/contracts/ids';
import { FACT_OVERHEAD_BYTES } from '@runledger/contracts/fold/log-capacity';
import { aRun, assigned, cancelRequested, queued, requeued } from '@runledger/testing/run-events';
import { webhookStarted } from '@runledger/testing/webhook-events';
import { expect, it } from 'vitest';
import { append, type ChainEvent } from '../../src/append/append.ts';
import { readStored } from '../../src/read/run-messages.ts';
import { runsIdentity } from '../../src/read/stream-identity.ts';
import { aLog } from '../fixtures/test-log.ts';

const TRACEPARENT_BYTES = 'traceparent: \r\n'.length + 55;
/** The headers of the last message of a batch. */
const BATCH_BYTES =
  'Nats-Batch-Id: \r\n'.length + 12 + 'Nats-Batch-Sequence: 256\r\nNats-Batch-Commit: 1\r\n'.length;

it('the broker stores no more beside a fact than is reserved for it', async () => {
  await using test = await aLog();
  const { log } = test;
  const key = aRun();
  const executor = executorId(`${'x'.repeat(51)}.${'f'.repeat(12)}`);
  const overheadOf = async (event: ChainEvent, expected: number): Promise<number> => {
    const before = await runsIdentity(log);
    await append(log, event, expected);
    const { bytes, lastSequence } = await runsIdentity(log);
    const stored = await readStored(log, lastSequence);
    if (!stored?.data) throw new Error('the fact cannot be read');
    return bytes - before.bytes - stored.data.byteLength;
  };
  const overheads = [
    await overheadOf(queued(key), 0),
    await overheadOf(assigned(key, { attempt: 100_000, executor }), 1),
    await overheadOf(cancelRequested(key, 100_000, executor), 2),
    await overheadOf(requeued(key, 100_000, executor), 3),
    await overheadOf(webhookStarted(key), 0),
  ];
  // The sequences of a log with many facts have up to 15 digits more. A traced append has one more header, and one of a batch three.
  expect(Math.max(...overheads) + 15 + TRACEPARENT_BYTES + BATCH_BYTES).toBeLessThanOrEqual(
    FACT_OVERHEAD_BYTES,
  );
  expect(Math.min(...overheads)).toBeGreaterThan(FACT_OVERHEAD_BYTES / 2);
});
