import type { OrgId, RunId } from '@runledger/contracts/ids';
import type { LostFacts } from '@runledger/event-log/provision/lost-facts';
import { VIEW_VERSION } from './stored-run.decide.ts';
import type { RunViews } from './run-views.ts';
import { openViewStore, type ViewSettings } from './open-view-store.ts';

const PAGE = 500;

interface NameOptions {
  readonly say: (sentence: string, about: Partial<LostRun>) => void;
  /** Of so many each is named. */
  readonly atMost: number;
}

interface LostRun {
  readonly run_id: RunId;
  readonly org_id: OrgId;
  readonly status: string;
  /** In RUNS, of its last fact. */
  readonly sequence: number;
}

/**
 * Says of which runs the last fact is among those that RUNS has lost, as their views show them. What else a run has lost, in
 * the middle of its history, only the log itself can tell: `runledger verify`.
 * @throws {ViewsUnavailable}
 */
export const nameLostRuns = async (
  views: RunViews,
  { ranges }: LostFacts,
  { say, atMost }: NameOptions,
): Promise<void> => {
  const isLost = (head: number): boolean => ranges.some(([first, last]) => first <= head && head <= last);
  const organisations = new Set<OrgId>();
  let count = 0;
  for (let after = ''; ;) {
    const page = await views.listAll({ after, limit: PAGE });
    for (const { head: sequence, run } of page) {
      if (!isLost(sequence)) continue;
      const { run_id, org_id, status } = run;
      organisations.add(org_id);
      count += 1;
      if (count > atMost) continue;
      const sentence = `run ${run_id} of organisation ${org_id}, shown as ${status}: its last fact is lost`;
      say(sentence, { run_id, org_id, status, sequence });
    }
    const last = page.at(-1);
    if (last === undefined) break;
    after = last.run.run_id;
  }
  say(`the last fact is lost of ${count} runs of ${organisations.size} organisations, by the views`, {});
};

/** The same, of the views of a gateway that does not run. @throws {ViewsUnavailable} */
export const nameLostRunsIn = async (
  settings: ViewSettings,
  lost: LostFacts,
  options: NameOptions,
): Promise<void> => {
  await using views = openViewStore(settings, { version: VIEW_VERSION, clock: () => performance.now() });
  await nameLostRuns(views, lost, options);
};
