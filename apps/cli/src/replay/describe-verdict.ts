import type { Decided, Verdict } from '@runledger/replay/decisions/verdict';
import { plain } from '../output/plain-text.ts';

/** A decision beside the recorded one, in lines. */
export const describeVerdict = (verdict: Verdict): string[] => {
  const recorded = 'recorded' in verdict ? verdict.recorded : undefined;
  const now = 'now' in verdict ? verdict.now : undefined;
  const about = verdict.run_id === undefined ? `executor ${verdict.executor_id}` : `run ${verdict.run_id}`;
  const at = recorded ? `position ${recorded.position} of ${recorded.stream}, ` : '';
  return [
    `${at}${recorded?.time ?? now?.time ?? ''}, ${about}: ${verdict.service} ${KINDS[verdict.kind]}`,
    `  recorded  ${recorded ? textOf(recorded) : 'nothing'}`,
    `  now       ${now ? textOf(now) : 'nothing'}`,
    ...whyOf(verdict),
  ];
};

const KINDS: Readonly<Record<Verdict['kind'], string>> = {
  equal: 'decides the same',
  different: 'decides something else',
  not_decided: 'does not decide it',
  not_recorded: 'decides what was not recorded',
  not_compared: 'is not compared',
};

const textOf = ({ type, sentence }: Decided): string => `${type}: ${shownSentence(sentence)}`;

/** A slice leaves out texts for people, such as the message at the end of a sentence. */
export const shownSentence = (sentence: string): string => plain(sentence).replace(/:$/, '');

const whyOf = (verdict: Verdict): string[] => {
  switch (verdict.kind) {
    case 'equal':
      return [];
    case 'different':
      return [
        `  differs   ${verdict.differs.map((name) => differenceIn(name, verdict.recorded, verdict.now)).join(', ')}`,
      ];
    case 'not_decided':
    case 'not_recorded':
    case 'not_compared':
      return [`  why       ${verdict.why}`];
  }
};

const differenceIn = (name: string, recorded: Decided, now: Decided): string =>
  name === 'type'
    ? `${recorded.type}, now ${now.type}`
    : `${name} ${valueOf(recorded, name)}, now ${valueOf(now, name)}`;

const valueOf = ({ members }: Decided, name: string): string =>
  plain(JSON.stringify(members[name]) ?? 'nothing');
