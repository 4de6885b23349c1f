import { isImpossible } from '@runledger/contracts/fold/chain';
import { evolveRun } from '@runledger/contracts/fold/evolve-run';
import { isDeleted, isEnded, type Run } from '@runledger/contracts/fold/run';
import type { Webhook } from '@runledger/contracts/fold/webhook';
import { newUuid } from '@runledger/contracts/ids';
import {
  aRun,
  assigned,
  cancelRequested,
  failed,
  queued,
  started,
  succeeded,
  uploading,
} from '@runledger/testing/run-events';
import {
  redeliveryRequested,
  webhookDelivered,
  webhookGivenUp,
  webhookStarted,
} from '@runledger/testing/webhook-events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deletion, type Deletable } from '../../../src/runs/facts/delete.decide.ts';
import { anOutput } from '../../fixtures/runs/an-output.ts';
import { folded, foldedWebhook } from '../../fixtures/runs/folded-runs.ts';

const key = aRun();
const webhook = 'https://hooks.example/done';
const by = { user_id: newUuid(), key_id: newUuid() };
const envelope = {
  event_id: newUuid(),
  ...key,
  time: '2026-01-02T00:00:00.000Z',
  writer: { service: 'gateway', instance: 'gateway-1' },
  traceparent: null,
};
const decide = (what: Deletable, run: Run, state?: Webhook) =>
  deletion(what, run, { webhook: state, listed: [] }, by, envelope);

const notified = (...events: Parameters<typeof foldedWebhook>[1][]): Webhook | undefined =>
  foldedWebhook(9, ...events).state;
const UNSETTLED = [
  undefined,
  notified(webhookStarted(key)),
  notified(webhookGivenUp(key), redeliveryRequested(key)),
];
const SETTLED = [notified(webhookDelivered(key)), notified(webhookGivenUp(key))];

const open = [queued(key, { webhook }), assigned(key), started(key), uploading(key)];
const ended = (request = {}): Run[] => {
  const first = queued(key, request);
  return [
    folded(first, assigned(key), started(key), succeeded(key, [anOutput])),
    folded(first, assigned(key), failed(key)),
    folded(first, cancelRequested(key)),
  ];
};
const kinds: fc.Arbitrary<Deletable> = fc.constantFrom('run', 'outputs');

describe('deleting', () => {
  it('waits for the end of the run, whatever became of its notifications', () => {
    const anyState = fc.constantFrom(...UNSETTLED, ...SETTLED);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: open.length }), anyState, kinds, (facts, state, what) => {
        const run = folded(...open.slice(0, facts));
        expect(decide(what, run, state)).toEqual({ kind: 'refused', because: 'not_ended' });
      }),
    );
  });

  it('waits for a notification that may still be made from the run, and for no other', () => {
    for (const run of ended({ webhook })) {
      for (const state of UNSETTLED) {
        expect(decide('run', run, state)).toEqual({ kind: 'refused', because: 'not_notified' });
        expect(decide('outputs', run, state)).toEqual({ kind: 'refused', because: 'not_notified' });
      }
      for (const state of SETTLED) expect(decide('run', run, state).kind).toBe('append');
    }
    for (const run of ended()) expect(decide('run', run).kind).toBe('append');
  });

  it('stores facts that the fold accepts behind the end, in either order of the requests', () => {
    fc.assert(
      fc.property(fc.constantFrom(...ended()), fc.array(kinds, { maxLength: 4 }), (first, requests) => {
        let run: Run | undefined = first;
        for (const [index, what] of requests.entries()) {
          if (!run) break;
          const decided = decide(what, run);
          const wasDeleted: boolean = isEnded(run) && run.deleted_outputs !== null;
          expect(decided.kind).toBe(what === 'outputs' && wasDeleted ? 'nothing_to_do' : 'append');
          if (decided.kind !== 'append') continue;
          const next = evolveRun(run, { event: decided.event, sequence: 10 + index, time: envelope.time });
          if (isImpossible(next)) throw new Error(next.impossible);
          run = isDeleted(next) ? undefined : next;
        }
        expect(run === undefined).toBe(requests.includes('run'));
      }),
    );
  });

  it('says who did it, and what a run without a history was', () => {
    const [run] = ended();
    if (!run) throw new Error('there is one');
    expect(decide('run', run)).toMatchObject({
      event: { type: 'RunDeleted', data: { ...by, number: run.number, created_at: run.created_at } },
    });
    expect(decide('outputs', run)).toMatchObject({
      event: { type: 'RunOutputsDeleted', attempt: 1, executor_id: null, data: by },
    });
  });
});
