import { newUuid, orgId, runId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { queued } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import {
  webhookTargetOf,
  openWebhookTargets,
  type WebhookTarget,
  type WebhookTargets,
} from '../src/webhook-targets.ts';

const QUEUED_AT = Date.parse('2026-01-01T00:00:00.000Z');
const aRun = (): RunKey => ({ org_id: orgId(newUuid()), run_id: runId(newUuid()) });
const callback = (name: string): WebhookTarget => ({
  origin: `https://${name}.example`,
  intermediate: false,
  oldestFactAt: QUEUED_AT,
});
const A = callback('a');
const B = callback('b');

/** Targets of a log in which every run has A, and the runs that were looked up there. */
const someTargets = (): { readonly targets: WebhookTargets; readonly lookedUp: RunKey[] } => {
  const lookedUp: RunKey[] = [];
  const lookUp = async (key: RunKey): Promise<WebhookTarget> => {
    lookedUp.push(key);
    return A;
  };
  return { targets: openWebhookTargets(lookUp), lookedUp };
};

describe('the webhook target of a run', () => {
  it('has the origin of its URL, and whether the run requests intermediate notifications', () => {
    const { data } = queued(aRun(), {
      webhook: 'https://A.example:443/hook?token=1',
      webhook_intermediate_status: true,
    });
    expect(webhookTargetOf(data, QUEUED_AT)).toEqual({
      origin: 'https://a.example',
      intermediate: true,
      oldestFactAt: QUEUED_AT,
    });
  });

  it('is null for a run without a webhook', () => {
    expect(webhookTargetOf(queued(aRun(), { webhook: null }).data, QUEUED_AT)).toBeNull();
  });

  it('has no origin when its text is no URL, so that its delivery is given up', () => {
    expect(webhookTargetOf(queued(aRun(), { webhook: 'nonsense' }).data, QUEUED_AT)).toEqual({
      origin: 'null',
      intermediate: false,
      oldestFactAt: QUEUED_AT,
    });
  });

  it('is not looked up when the run was queued before, also for a run without a webhook', async () => {
    const { targets, lookedUp } = someTargets();
    const [wanting, withoutWebhook] = [aRun(), aRun()];
    targets.note(wanting.run_id, B);
    targets.note(withoutWebhook.run_id, null);
    expect(await targets.find(wanting, 1)).toEqual(B);
    expect(await targets.find(withoutWebhook, 1)).toBeNull();
    expect(lookedUp).toEqual([]);
  });

  it('is looked up once for many readers at the same time, and then cached', async () => {
    const { targets, lookedUp } = someTargets();
    const key = aRun();
    const found = await Promise.all(Array.from({ length: 50 }, () => targets.find(key, 1)));
    expect(new Set(found)).toEqual(new Set([A]));
    await targets.find(key, 1);
    expect(lookedUp).toEqual([key]);
  });

  it('is looked up again after a lookup failed', async () => {
    let times = 0;
    const targets = openWebhookTargets(async () => {
      times += 1;
      if (times === 1) throw new Error('the log is unavailable');
      return A;
    });
    const key = aRun();
    const first = await Promise.allSettled([targets.find(key, 1), targets.find(key, 1)]);
    expect(first.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await targets.find(key, 1)).toEqual(A);
    expect(times).toBe(2);
  });

  it('is looked up again when the log did not have the run, also by one who was handed more of it meanwhile', async () => {
    const lookedUp: number[] = [];
    const targets = openWebhookTargets(async (_key, atLeast) => {
      lookedUp.push(atLeast);
      return atLeast > 0 ? A : undefined;
    });
    const key = aRun();
    expect(await Promise.all([targets.find(key, 0), targets.find(key, 7)])).toEqual([null, A]);
    expect(await targets.find(key, 0)).toEqual(A);
    expect(lookedUp).toEqual([0, 7]);
  });

  it('is the noted one when it was noted during a lookup', async () => {
    const answer = Promise.withResolvers<WebhookTarget | null>();
    const targets = openWebhookTargets(() => answer.promise);
    const key = aRun();
    const finding = targets.find(key, 1);
    targets.note(key.run_id, B);
    answer.resolve(null);
    expect(await finding).toEqual(B);
    expect(await targets.find(key, 1)).toEqual(B);
  });

  it('is forgotten as the least recently used one', async () => {
    const { targets, lookedUp } = someTargets();
    const [used, unused] = [aRun(), aRun()];
    targets.note(used.run_id, B);
    targets.note(unused.run_id, B);
    for (let others = 0; others < 50_020; others += 1) {
      targets.note(runId(newUuid()), A);
      expect(await targets.find(used, 1)).toEqual(B);
    }
    expect(await targets.find(unused, 1)).toEqual(A);
    expect(lookedUp).toEqual([unused]);
  });
});
