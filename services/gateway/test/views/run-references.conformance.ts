import type { BlobRef } from '@runledger/contracts/blobs';
import { newUuid, orgId, type OrgId } from '@runledger/contracts/ids';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { casesOf } from '@runledger/testing/random/cases';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { beginningOf } from '../../src/views/projection-start.decide.ts';
import type { RunView } from '../../src/views/run-view.ts';
import type { RunViews } from '../../src/views/run-views.ts';
import { aView, folded } from '../fixtures/runs/folded-runs.ts';

const blob = (name: string, bytes: number): BlobRef => ({ sha256: name.repeat(64).slice(0, 64), bytes });

/** The views of a run after each of its facts. */
const historyOf = (org: OrgId, inputs: BlobRef | null, outputs: BlobRef | null): RunView[] => {
  const key = aRun(org);
  const request = inputs ? { inputs: null, inputs_blob: inputs } : {};
  const events: RunEvent[] = [queued(key, request), assigned(key), started(key), succeeded(key, [], outputs)];
  return events.map((_, index) => aView(index + 1, folded(...events.slice(0, index + 1))));
};

const blobsOf = ({ run }: RunView): BlobRef[] =>
  [run.request.inputs_blob, 'outputs_blob' in run ? run.outputs_blob : null].filter((ref) => ref !== null);

const sumOf = (views: Iterable<RunView>): number => {
  const blobs = new Map([...views].flatMap(blobsOf).map(({ sha256, bytes }) => [sha256, bytes]));
  return [...blobs.values()].reduce((sum, bytes) => sum + bytes, 0);
};

/** What runs refer to, in every adapter. */
export const runReferencesConformance = (views: () => RunViews): void => {
  describe('references of runs', () => {
    const [a, b, c] = [blob('1', 10_000), blob('b', 3_000_000_000), blob('c', 5)];

    it('are counted once for each blob, however many runs refer to it', async () => {
      const org = orgId(newUuid());
      const sum = () => views().sumBlobBytes(org);
      expect(await sum()).toBe(0);
      const [first, second, third] = [historyOf(org, a, c), historyOf(org, a, b), historyOf(org, null, null)];
      await views().save([...first.slice(0, 1), ...second.slice(0, 1), ...third.slice(0, 1)]);
      await views().save(historyOf(orgId(newUuid()), blob('d', 7), null).slice(0, 1));
      expect(await sum()).toBe(10_000);
      await views().save([...first.slice(3), ...second.slice(3), ...third.slice(3)]);
      expect(await sum()).toBe(3_000_010_005);
      await views().save(second.slice(0, 1));
      expect(await sum()).toBe(3_000_010_005);
      await views().resetTo(beginningOf({ created: newUuid(), since: newUuid() }, 1));
      expect(await sum()).toBe(3_000_010_005);
      await views().save(second.slice(0, 1));
      expect(await sum()).toBe(10_005);
    });

    it('add up to the distinct blobs of the latest views, in whatever order these are saved', async () => {
      const inputs = fc.constantFrom(null, a, blob('e', 4_097), blob('f', 1));
      const outputs = fc.constantFrom(null, c, blob('g', 4_098));
      const runs = fc.array(fc.tuple(inputs, outputs), { minLength: 1, maxLength: 6 });
      const saved = fc.array(fc.tuple(fc.nat(5), fc.nat(3)), { maxLength: 12 });
      await fc.assert(
        fc.asyncProperty(runs, saved, async (blobs, order) => {
          const org = orgId(newUuid());
          const histories = blobs.map((refs) => historyOf(org, ...refs));
          const latest = new Map<string, RunView>();
          for (const [run, step] of order) {
            const view = histories[run]?.[step];
            if (view === undefined) continue;
            await views().save([view]);
            if (view.head >= (latest.get(view.run.run_id)?.head ?? 0)) latest.set(view.run.run_id, view);
          }
          expect(await views().sumBlobBytes(org)).toBe(sumOf(latest.values()));
        }),
        { numRuns: casesOf(6) },
      );
    });

    it('are found by blob, of this organisation alone', async () => {
      const [org, other] = [orgId(newUuid()), orgId(newUuid())];
      const history = historyOf(org, a, c);
      const all = [a, b, c].map(({ sha256 }) => sha256);
      const referred = async (of = org) => [...(await views().referredBlobs(of, 'BLOBS', all))].toSorted();
      expect(await referred()).toEqual([]);
      await views().save(history.slice(0, 1));
      expect(await referred()).toEqual([a.sha256]);
      await views().save(history.slice(3));
      expect([await referred(), await referred(other)]).toEqual([[a.sha256, c.sha256], []]);
      expect(await views().referredBlobs(org, 'BLOBS', [])).toEqual(new Set());
      expect(await views().referredBlobs(org, 'WORKFLOWS', all)).toEqual(new Set());
    });

    it('are found by workflow and by record until the run has ended', async () => {
      const [org, other] = [orgId(newUuid()), orgId(newUuid())];
      const key = aRun(org);
      const { request } = folded(queued(key));
      const events: RunEvent[] = [
        queued(key, {
          workflow_sha256: a.sha256,
          workflow_version_id: newUuid(),
          deployment_id: newUuid(),
          machine_id: newUuid(),
        }),
        assigned(key),
        started(key),
        succeeded(key),
      ];
      const at = (count: number): RunView => aView(count, folded(...events.slice(0, count)));
      const used = at(1).run.request;
      const found = async (of = org, named = used) => [
        await views().findLiveRun(of, { kind: 'workflow_version', id: named.workflow_version_id }),
        await views().findLiveRun(of, { kind: 'deployment', id: named.deployment_id }),
        await views().findLiveRun(of, { kind: 'machine', id: named.machine_id }),
        ...(await views().referredBlobs(of, 'WORKFLOWS', [named.workflow_sha256, b.sha256])),
      ];
      const none = [undefined, undefined, undefined];
      for (const count of [1, 2, 3]) {
        await views().save([at(count)]);
        expect(await found()).toEqual([key.run_id, key.run_id, key.run_id, a.sha256]);
        expect([await found(other), await found(org, request)]).toEqual([none, none]);
      }
      await views().save([at(4)]);
      expect(await found()).toEqual(none);
    });
  });
};
