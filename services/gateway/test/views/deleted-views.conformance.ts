import { isImpossible } from '@runledger/contracts/fold/chain';
import { evolveRun } from '@runledger/contracts/fold/evolve-run';
import { orgId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import {
  aRun,
  assigned,
  deleted,
  outputsDeleted,
  queued,
  started,
  succeeded,
} from '@runledger/testing/run-events';
import { webhookGivenUp } from '@runledger/testing/webhook-events';
import { describe, expect, it } from 'vitest';
import type { RunView, StoredView } from '../../src/views/run-view.ts';
import type { RunViews } from '../../src/views/run-views.ts';
import { anOutput } from '../fixtures/runs/an-output.ts';
import { erasedView } from '../fixtures/views/erased-views.ts';
import { aView, folded, foldedWebhook, timeOf } from '../fixtures/runs/folded-runs.ts';

const TODAY = '2026-01-01';

/** Views of deleted runs and outputs, in every adapter. */
export const deletedViewsConformance = (views: () => RunViews): void => {
  const succeededView = (key: RunKey): RunView =>
    aView(
      4,
      folded(
        queued(key, { webhook: 'https://a.example/hook', tags: ['a', 'b'] }),
        assigned(key),
        started(key),
        succeeded(key, [anOutput]),
      ),
      foldedWebhook(5, webhookGivenUp(key)),
    );
  const after = (
    view: RunView,
    event: ReturnType<typeof deleted | typeof outputsDeleted>,
    sequence = 6,
  ): StoredView => {
    const run = evolveRun(view.run, { event, sequence, time: timeOf(sequence) });
    if (isImpossible(run)) throw new Error(run.impossible);
    return { ...view, head: sequence, run };
  };
  const toErase = async (): Promise<StoredView[]> => views().listToErase({ after: '', limit: 100 });
  const idsOf = (found: readonly StoredView[]): string[] => found.map(({ run }) => run.run_id);

  describe('deleted runs and outputs', () => {
    it('of a run leave a view that no list has and no sum counts', async () => {
      const key = aRun();
      const view = succeededView(key);
      await views().save([view]);
      expect((await views().listRuns({ org_id: key.org_id, tags: ['b'], limit: 10 })).items).toEqual([view]);
      const search = { text: 'a', deploymentIds: [] };
      const found = async () =>
        idsOf((await views().listRuns({ org_id: key.org_id, search, limit: 10 })).items);
      expect(await found()).toEqual([key.run_id]);
      expect(await views().sumOutputBytes(key.org_id, TODAY)).toBe(10);
      const gone = after(view, deleted(key));
      await views().save([gone]);
      expect(await views().find(key)).toEqual(gone);
      expect(await views().sumOutputBytes(key.org_id, TODAY)).toBe(0);
      const everything = { org_id: key.org_id, limit: 10 };
      expect((await views().listRuns({ ...everything, tags: ['a'] })).items).toEqual([]);
      expect(await found()).toEqual([]);
      expect((await views().listRuns(everything)).items).toEqual([]);
      expect((await views().listRuns({ ...everything, statuses: ['success'] })).items).toEqual([]);
      expect((await views().listWebhooks({ ...everything, statuses: ['failed'] })).items).toEqual([]);
      await views().remove([gone]);
    });

    it('of a run leave a view in the way of a stale one, also when all of it is erased, until that is removed', async () => {
      const [key, later] = [aRun(), aRun()];
      const view = succeededView(key);
      const gone = erasedView(after(view, deleted(key)));
      const goneLater = erasedView(after(succeededView(later), deleted(later), 7));
      await views().save([view, goneLater]);
      await views().save([after(view, deleted(key))]);
      const listed = async (limit = 100) => idsOf(await views().listErased(limit));
      expect(await listed()).toEqual([later.run_id]);
      await views().save([gone]);
      expect(idsOf(await toErase())).not.toContain(key.run_id);
      expect(await listed()).toEqual([key.run_id, later.run_id]);
      expect(await listed(1)).toEqual([key.run_id]);
      // A gateway that was paused while another one went on.
      await views().save([view]);
      expect(await views().find(key)).toEqual(gone);
      expect((await views().listRuns({ org_id: key.org_id, limit: 10 })).items).toEqual([]);
      expect(await views().remove([gone, goneLater])).toBe(2);
      expect(await listed()).toEqual([]);
      expect(await views().find(key)).toBeUndefined();
      expect(await views().sumOutputBytes(key.org_id, TODAY)).toBe(0);
    });

    it('are listed for whoever erases their files, of all organisations, in the order of their ids', async () => {
      const keys = [aRun(), aRun(), aRun()].toSorted((a, b) => (a.run_id < b.run_id ? -1 : 1));
      const found = keys.map((key, index) =>
        after(succeededView(key), index === 1 ? outputsDeleted(key) : deleted(key)),
      );
      await views().save([...found.toReversed(), succeededView(aRun())]);
      const ids = keys.map(({ run_id }) => run_id);
      expect(idsOf(await toErase()).filter((id) => ids.some((one) => one === id))).toEqual(ids);
      const [first, second, third] = found;
      if (!first || !second || !third) throw new Error('there are three');
      const next = await views().listToErase({ after: first.run.run_id, limit: 1 });
      expect(next).toEqual([second]);
      await views().remove(found);
      expect(await toErase()).toEqual([]);
    });

    it('of outputs are no longer listed once the view says that the files are erased', async () => {
      const key = aRun();
      const view = after(succeededView(key), outputsDeleted(key));
      await views().save([view]);
      if (!('deleted_outputs' in view.run) || !view.run.deleted_outputs)
        throw new Error('they are not deleted');
      const erased = {
        ...view,
        run: { ...view.run, deleted_outputs: { ...view.run.deleted_outputs, to_erase: null } },
      };
      await views().save([erased]);
      expect(idsOf(await toErase())).not.toContain(key.run_id);
      expect(await views().find(key)).toEqual(erased);
      expect(idsOf((await views().listRuns({ org_id: key.org_id, limit: 10 })).items)).toEqual([key.run_id]);
    });

    it('remove nothing that another organisation has, or that has changed meanwhile', async () => {
      const view = succeededView(aRun());
      await views().save([view]);
      const changed = [
        { ...view, head: 3 },
        { ...view, webhook: foldedWebhook(9, webhookGivenUp(view.run)) },
      ];
      expect(await views().remove(changed)).toBe(0);
      const others = { ...view, run: { ...view.run, org_id: orgId(aRun().org_id) } };
      expect(await views().remove([others])).toBe(0);
      expect(await views().remove([])).toBe(0);
      expect(await views().find(view.run)).toEqual(view);
    });
  });
};
