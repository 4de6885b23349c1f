import { newUuid, orgId, runId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { queued } from '@runledger/testing/events/run-events';
import { describe, expect, it } from 'vitest';
import {
  webhookTargetOf,
  openWebhookTargets,
  type WebhookTarget,
  type WebhookTargets,
} from '../../src/subscription/webhook-targets.ts';

const aRun = (): RunKey => ({ org_id: orgId(newUuid()), run_id: runId(newUuid()) });
const callback = (name: string): WebhookTarget => ({
  origin: `https://${name}.example`,
  intermediate: false,
});
const A = callback('a');
const B = callback('b');

/** Callbacks with a log in which every run wants A, and what was looked up there. */
const aLog = (most?: number): { readonly callbacks: WebhookTargets; readonly lookedUp: RunKey[] } => {
  const lookedUp: RunKey[] = [];
  const lookUp = async (key: RunKey): Promise<WebhookTarget> => {
    lookedUp.push(key);
    return A;
  };
  return { callbacks: openWebhookTargets(lookUp, most), lookedUp };
};

describe('the callback of a run', () => {
  it('is the origin of its URL, and whether it wants to hear of progress', () => {
    const { data } = queued(aRun(), {
      webhook: 'https://A.example:443/hook?token=1',
      webhook_intermediate_status: true,
    });
    expect(webhookTargetOf(data)).toEqual({ origin: 'https://a.example', intermediate: true });
  });

  it('is null for a run without a webhook', () => {
    expect(webhookTargetOf(queued(aRun(), { webhook: null }).data)).toBeNull();
  });

  it('is one without an origin when its text is no URL, so that its delivery comes to an end', () => {
    expect(webhookTargetOf(queued(aRun(), { webhook: 'nonsense' }).data)).toEqual({
      origin: 'null',
      intermediate: false,
    });
  });

  it('is not looked up when it was noted, also for a run without a webhook', async () => {
    const { callbacks, lookedUp } = aLog();
    const [wanting, silent] = [aRun(), aRun()];
    callbacks.note(wanting.run_id, B);
    callbacks.note(silent.run_id, null);
    expect(await callbacks.find(wanting)).toEqual(B);
    expect(await callbacks.find(silent)).toBeNull();
    expect(lookedUp).toEqual([]);
  });

  it('is looked up once for many who ask at the same time, and then known', async () => {
    const { callbacks, lookedUp } = aLog();
    const key = aRun();
    const found = await Promise.all(Array.from({ length: 50 }, () => callbacks.find(key)));
    expect(new Set(found)).toEqual(new Set([A]));
    await callbacks.find(key);
    expect(lookedUp).toEqual([key]);
  });

  it('is looked up again after that went wrong for all who asked', async () => {
    let times = 0;
    const callbacks = openWebhookTargets(async () => {
      times += 1;
      if (times === 1) throw new Error('the log is away');
      return A;
    });
    const key = aRun();
    const first = await Promise.allSettled([callbacks.find(key), callbacks.find(key)]);
    expect(first.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await callbacks.find(key)).toEqual(A);
    expect(times).toBe(2);
  });

  it('is the one that was noted while it was looked up', async () => {
    const answer = Promise.withResolvers<WebhookTarget | null>();
    const callbacks = openWebhookTargets(() => answer.promise);
    const key = aRun();
    const finding = callbacks.find(key);
    callbacks.note(key.run_id, B);
    answer.resolve(null);
    expect(await finding).toEqual(B);
    expect(await callbacks.find(key)).toEqual(B);
  });

  it('is forgotten when more others were asked for since than are remembered, and not before', async () => {
    const { callbacks, lookedUp } = aLog(10);
    const [used, unused] = [aRun(), aRun()];
    callbacks.note(used.run_id, B);
    callbacks.note(unused.run_id, B);
    for (let others = 0; others < 30; others += 1) {
      callbacks.note(runId(newUuid()), A);
      expect(await callbacks.find(used)).toEqual(B);
    }
    expect(await callbacks.find(unused)).toEqual(A);
    expect(lookedUp).toEqual([unused]);
  });
});
