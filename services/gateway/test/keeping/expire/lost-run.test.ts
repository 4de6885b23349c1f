import { EMPTY_HISTORY } from '@runledger/contracts/fold/chain';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { decideLost, type LostRun } from '../../../src/runs/facts/expiring.decide.ts';
import type { StoredView } from '../../../src/views/run-view.ts';
import { folded } from '../../fixtures/runs/folded-runs.ts';

const key = aRun();
const open: StoredView = {
  head: 3,
  run: folded(queued(key), assigned(key), started(key)),
  webhook: EMPTY_HISTORY,
};
const ended: StoredView = {
  head: 4,
  run: folded(queued(key), assigned(key), started(key), succeeded(key)),
  webhook: EMPTY_HISTORY,
};
const delivered: StoredView = {
  ...ended,
  webhook: { head: 5, state: { status: 'success', round: 1, updated_at: '', tries: 1 } },
};
const lost: LostRun = { held: 'nothing', head: 0, areViewsComplete: true, view: open, archived: undefined };

describe('what the log has lost of a run', () => {
  it('is lost when neither the log nor the archive has more of it than its view', () => {
    const decision = { kind: 'lost', view: open, head: 0, held: 'nothing' };
    expect(decideLost(lost)).toEqual(decision);
    expect(decideLost({ ...lost, archived: open })).toEqual(decision);
  });

  it.each<[string, Partial<LostRun>]>([
    ['the views may lack facts that have left the log', { areViewsComplete: false }],
    ['there is no view', { view: undefined }],
    ['the log still has facts behind the view', { held: 'a part', head: 4 }],
  ])('is not known while %s', (_why, partial) => {
    expect(decideLost({ ...lost, ...partial })).toEqual({ kind: 'wait' });
  });

  it('is lost when the view has all that the log still has', () => {
    expect(decideLost({ ...lost, held: 'a part', head: 3 })).toMatchObject({ kind: 'lost', head: 3 });
  });

  it.each<[string, StoredView, StoredView]>([
    ['the end of the run', open, ended],
    ['the end of its notification', ended, delivered],
  ])('is recovered when the archive has %s', (_what, view, archived) => {
    expect(decideLost({ ...lost, view, archived })).toEqual({ kind: 'recover', view: archived });
    // Of another log.
    const other = { ...archived, head: 0 };
    expect(decideLost({ ...lost, view: { ...view, head: 0 }, archived: other })).toMatchObject({
      kind: 'recover',
    });
  });

  it('is lost when the archive knows less of it than the view', () => {
    expect(decideLost({ ...lost, view: delivered, archived: open })).toMatchObject({ kind: 'lost' });
  });
});
