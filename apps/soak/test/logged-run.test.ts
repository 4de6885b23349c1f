import { webhookDelivered, webhookStarted } from '@runledger/testing/webhook-events';
import { describe, expect, it } from 'vitest';
import { foldRuns } from '../src/evidence/logged-run.ts';
import { EVENTS, RUN, stored } from './fixtures/a-soak.ts';

describe('webhook facts that followed nothing, because the log had forgotten those before', () => {
  const events = [...EVENTS.slice(0, 4), webhookStarted(RUN), webhookDelivered(RUN)];
  const messages = stored(events).map((message) =>
    message.sequence === 6 ? { ...message, expectedSequence: 0 } : message,
  );
  const logged = foldRuns(messages).get(RUN.run_id);

  it('are part of the history, with those before', () => {
    expect(logged?.webhookFacts.map(({ sequence }) => sequence)).toEqual([5, 6]);
    expect(logged?.webhook?.status).toBe('success');
    expect(logged?.defects).toEqual([]);
  });
});
