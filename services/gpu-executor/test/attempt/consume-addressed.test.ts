import { executorId } from '@runledger/contracts/ids';
import { aLog } from '@runledger/event-log/test/fixtures/test-log';
import { createExecutorConsumers } from '@runledger/request-reply/executor-consumers';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { consumeAddressed } from '../../src/attempt/executor-log.ts';

it('an executor waits for a scheduler that creates its consumer, and says so', async () => {
  await using broker = await aLog();
  const log = await broker.open();
  const waiting: string[] = [];
  const lines: string[] = [];
  const logger = { ...log.logger, warn: (_fields: object, text: string) => void lines.push(text) };
  const handle = () => ({ kind: 'accepted' }) as const;
  const id = executorId('box.000000000001');
  const { signal } = new AbortController();
  const opening = consumeAddressed({ ...log, logger }, id, handle, signal, (why) => waiting.push(why));
  await waitFor('several tries', () => waiting.length >= 3);
  expect(new Set(waiting)).toEqual(
    new Set([expect.stringContaining('No scheduler has created the consumer')]),
  );
  expect(lines).toEqual(['there is no consumer for this executor yet; waiting for it']);

  using scheduler = createExecutorConsumers(await broker.open());
  expect(scheduler).toBeDefined();
  await using consumption = await opening;
  expect(consumption.state()).toEqual({ ok: true });
});
