import type { OrgId, RunId } from '@runledger/contracts/ids';
import type { LostFacts } from '@runledger/event-log/provision/lost-facts';
import { everyView } from './scan-list.ts';
import { VIEW_VERSION } from './stored-run.decide.ts';
import type { RunViews } from './run-views.ts';
import { openViewStore, type ViewSettings } from './open-view-store.ts';

type Say = (sentence: string, about: Partial<LostRun>) => void;

interface LostRun {
  readonly run_id: RunId;
  readonly org_id: OrgId;
  readonly status: string;
  /** In RUNS, of its last fact. */
  readonly sequence: number;
}

/**
 * Says of which runs, `atMost` so many by name, the last fact is among those that RUNS has lost, as their views show them. What else a run has lost, in
 * the middle of its history, only the log itself can tell: `runledger verify`.
 * @throws {ViewsUnavailable}
 */
export const nameLostRuns = async (
  views: RunViews,
  { ranges }: LostFacts,
  say: Say,
  atMost: number,
): Promise<void> => {
  const isLost = (head: number): boolean => ranges.some(([first, last]) => first <= head && head <= last);
  const organisations = new Set<OrgId>();
  let count = 0;
  for await (const { head: sequence, run } of everyView((query) => views.listAll(query))) {
    if (!isLost(sequence)) continue;
    const { run_id, org_id, status } = run;
    organisations.add(org_id);
    count += 1;
    if (count > atMost) continue;
    const sentence = `run ${run_id} of organisation ${org_id}, shown as ${status}: its last fact is lost`;
    say(sentence, { run_id, org_id, status, sequence });
  }
  say(`the last fact is lost of ${count} runs of ${organisations.size} organisations, by the views`, {});
};

/** The same, of the views of a gateway that does not run. @throws {ViewsUnavailable} */
export const nameLostRunsIn = async (
  settings: ViewSettings,
  lost: LostFacts,
  say: Say,
  atMost: number,
): Promise<void> => {
  await using views = await openViewStore(settings, {
    version: VIEW_VERSION,
    clock: () => performance.now(),
  });
  await nameLostRuns(views, lost, say, atMost);
};
