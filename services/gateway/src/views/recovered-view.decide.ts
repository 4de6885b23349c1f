import { endBehindLoss } from '@runledger/contracts/fold/run-ending';
import { evolveRun } from '@runledger/contracts/fold/evolve-run';
import { acceptMessage, EMPTY_HISTORY, isImpossible } from '@runledger/contracts/fold/chain';
import { isDeleted, isEnded } from '@runledger/contracts/fold/run';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import { walkChain } from '@runledger/contracts/fold/read-chain';
import { parseLifecycleSubject } from '@runledger/contracts/events/subjects';
import type { MessagesOfRun } from '@runledger/event-log/read/read-all-of-run';
import { foldedOf, inOrder, viewAfter } from './fold-run.decide.ts';
import type { StoredView } from './run-view.ts';

/**
 * The view that all messages make which the archive and the log have of a run. Facts that they lack may be in the present view, which is
 * behind. When webhook facts are lost for good, it has the present state of the notifications. Of a run that has lost facts of its lifecycle for
 * good, an end that is left counts. Undefined when nothing is.
 */
export const recoveredView = (
  present: StoredView | undefined,
  { life, webhook }: MessagesOfRun,
): StoredView | undefined => {
  const all = inOrder([...life, ...webhook]);
  // A fact that says everything, such as a deletion, says more of a run that is known.
  const known = beginsWithRun(life) ? [undefined, present] : [present, undefined];
  const fold = (messages: MessagesOfRun['life']): StoredView | undefined =>
    viewAfter(known[0], messages) ?? viewAfter(known[1], messages);
  const whole = fold(all) ?? endedView(present, { life, webhook }) ?? fold(fromNewBeginning(all));
  if (whole) return whole;
  const alone = fold(life) ?? endedView(present, { life, webhook: [] });
  return alone ? { ...alone, webhook: foldedOf(present).webhook } : deletedView(present, life);
};

/** From the first end that is left behind facts that are lost for good. */
const endedView = (
  present: StoredView | undefined,
  { life, webhook }: MessagesOfRun,
): StoredView | undefined => {
  if (!present || isDeleted(present.run) || isEnded(present.run)) return undefined;
  for (const step of walkChain(RUN_CHAIN, life)) {
    if (step.kind !== 'fact') continue;
    const { sequence } = step.fact;
    const run = endBehindLoss(present.run, step.fact);
    if (run)
      return viewAfter(
        { ...present, head: sequence, run },
        inOrder([...life.filter((one) => one.sequence >= sequence), ...webhook]),
      );
  }
  return undefined;
};

/** Behind facts that are lost for good: from an expiry on, which says everything. */
const fromNewBeginning = (messages: MessagesOfRun['life']): MessagesOfRun['life'] => {
  const at = messages.findIndex(
    (message) => acceptMessage(RUN_CHAIN, EMPTY_HISTORY, message).kind === 'accepted',
  );
  return at > 0 ? messages.slice(at) : [];
};

const beginsWithRun = ([first]: MessagesOfRun['life']): boolean =>
  first !== undefined && parseLifecycleSubject(first.subject)?.fact === 'queued';

/** Of a deleted run the archive has the deletion alone. What it erases is in the present view. */
const deletedView = (
  present: StoredView | undefined,
  life: MessagesOfRun['life'],
): StoredView | undefined => {
  const step = walkChain(RUN_CHAIN, life).find(
    (one) => one.kind === 'fact' && one.fact.event.type === 'RunDeleted',
  );
  if (step?.kind !== 'fact') return undefined;
  const before = present && !isDeleted(present.run) ? present.run : undefined;
  const run = evolveRun(before, step.fact);
  if (isImpossible(run)) return undefined;
  return { head: step.fact.sequence, run, webhook: foldedOf(present).webhook };
};
