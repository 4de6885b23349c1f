import { runOfDeliverySubject } from '@runledger/contracts/deliveries/delivery-attempts';
import { parseRunEvent } from '@runledger/contracts/events/run-event';
import { parseWebhookEvent } from '@runledger/contracts/events/webhook-event';
import { factSentence } from '@runledger/contracts/run-view/fact-sentence';
import type { SliceFact } from '@runledger/contracts/slices/slice';
import { TERMS } from '@runledger/contracts/subjects/terms';
import type { Moment } from '@runledger/replay/moments';
import { plain } from '../output/plain-text.ts';
import { describeVerdict, shownSentence } from './describe-verdict.ts';

/** A fact, and below it the decisions that were compared since the one before. */
export const describeMoment = ({ fact, verdicts }: Moment): string[] => [
  `${fact.time}  ${fact.stream} ${fact.sequence}  ${factText(fact)}`,
  ...verdicts.flatMap((verdict) =>
    verdict.kind === 'equal'
      ? [`  ${verdict.service} decides the same`]
      : describeVerdict(verdict).map(indented),
  ),
];

/** The run of the fact as it is now, and what each service knows of it. */
export const describeRun = ({ fact, run, services }: Moment): string[] => {
  const { run_id } = Object(fact.event);
  if (typeof run_id !== 'string') return ['The fact is about no run.'];
  return [
    'run:',
    ...jsonLines(run ?? 'its first facts are not in the slice'),
    ...services.flatMap(({ name, viewOf }) => [
      `${name}:`,
      ...jsonLines(viewOf(run_id) ?? 'knows nothing of it, because it has ended or is not in the slice'),
    ]),
  ];
};

const factText = ({ subject, event }: SliceFact): string => {
  if (subject === TERMS) return 'a scheduler begins to lead';
  const run = parseRunEvent(event);
  const parsed = run.kind === 'event' ? run : parseWebhookEvent(event);
  if (parsed.kind === 'event') {
    const { type, run_id } = parsed.event;
    return `${type} of run ${run_id}: ${shownSentence(factSentence(parsed.event))}`;
  }
  const delivery = runOfDeliverySubject(subject);
  if (delivery && event !== null) return plain(`${deliveryText(event)} of run ${delivery.run_id}`);
  const { type, executor_id, executor_name } = Object(event);
  return type === undefined
    ? 'a message that this release does not know'
    : plain(`${type} of ${executor_id ?? executor_name ?? 'nobody'}`);
};

/** Of a message of DELIVERY_ATTEMPTS. */
const deliveryText = (event: object): string => {
  const { notification, round, try: number, reason, state, tries } = Object(event);
  return state === undefined
    ? `attempt ${number} of round ${round}, ${notification}: ${reason},`
    : `delivery is ${state} after ${tries} attempts of round ${round}`;
};

const jsonLines = (value: unknown): string[] => JSON.stringify(value, undefined, 2).split('\n').map(indented);

const indented = (line: string): string => `  ${line}`;
