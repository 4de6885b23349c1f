import { isImpossible } from '@runledger/contracts/fold/chain';
import { evolveRun } from '@runledger/contracts/fold/evolve-run';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import type { MissingMember } from '@runledger/contracts/http/runs/run-outputs';
import type { RunFactEvent } from '@runledger/contracts/http/runs/run-events';
import { isDeleted, isEnded, type RunFact, type Run } from '@runledger/contracts/fold/run';
import type { OutputUrl } from '@runledger/contracts/run-view/shown-outputs';
import type { RunView } from '../../projection/core/run-view.ts';
import { runFactEvent, lastStateEvent } from './core/run-fact-event.ts';

/** The events of a run for its subscribers: its facts, each with the run folded up to it. */
export interface RunEvents {
  /** In the order of the log. It only grows. */
  readonly facts: readonly RunFactEvent[];
  run(): Run | undefined;
  /** Takes all facts of the run, with their outputs but for what is `lost`; false when they do not begin with those that were taken before. */
  take(known: readonly RunFact[], lost: readonly MissingMember[]): boolean;
  /** Takes the last state of a run whose events have expired; false when facts were taken before. */
  takeView(view: RunView, lost: readonly MissingMember[]): boolean;
}

export const runEvents = (outputUrl: OutputUrl): RunEvents => {
  const facts: RunFactEvent[] = [];
  let eventIds: string[] = [];
  let run: Run | undefined;
  return {
    facts,
    run: () => run,
    take: (known, lost) => {
      const continues = eventIds.every((id, index) => known[index]?.event.event_id === id);
      // The end of a run that outlived the log: what was taken before it has expired.
      const isEndAlone =
        known.length === 1 && known.every(({ event }) => RUN_CHAIN.needs(event) === 'nothing');
      if (!continues && !isEndAlone) return false;
      if (!continues) eventIds = [];
      const hasOutputs = known.every(({ event }) => event.type !== 'RunOutputsDeleted');
      for (const fact of known.slice(eventIds.length)) {
        const next = evolveRun(run, fact);
        if (isImpossible(next)) throw new Error(next.impossible);
        if (isDeleted(next)) return false;
        const shown = { outputUrl, lost: hasOutputs ? lost : [DELETED] };
        facts.push(runFactEvent(fact, hasOutputs ? next : withoutOutputs(next), shown));
        eventIds.push(fact.event.event_id);
        run = withoutInputs(next);
      }
      return true;
    },
    takeView: (view, lost) => {
      if (facts.length > 0) return false;
      facts.push(lastStateEvent(view, { outputUrl, lost }));
      return true;
    },
  };
};

/** The log has outputs longer than their run. */
const withoutOutputs = (run: Run): Run => (isEnded(run) ? { ...run, outputs: [] } : run);

const DELETED: MissingMember = { member: 'outputs', reason: 'deleted' };

/** Events do not show the inputs, which would be the largest part of a run in memory. */
const withoutInputs = (run: Run): Run => ({
  ...run,
  request: { ...run.request, inputs: {}, inputs_blob: null },
});
