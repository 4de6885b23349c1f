import type { RunOutput } from '../events/run-event-data.ts';
import type { JsonObject } from '../json.ts';
import type { ContentKind, SliceContent } from './content.ts';
import { maskedInputs, maskedOutput, withoutFileKeys, type Pseudonym } from './masks.ts';

/** How a slice hides the content that it does not keep. */
export interface Hiding {
  readonly keeps: (kind: ContentKind) => boolean;
  /** Whether something of kept inputs or outputs is replaced: then nothing is kept that a part of them could be derived from. */
  readonly masks: (kind: 'inputs' | 'outputs') => boolean;
  readonly maskInputs: (inputs: JsonObject) => JsonObject;
  readonly maskOutput: (output: RunOutput) => RunOutput;
  readonly pseudonym: Pseudonym;
}

export const hidingOf = ({ kept, masked }: SliceContent, pseudonym: Pseudonym): Hiding => {
  const kinds = new Set(kept);
  const { inputs = [], outputs = [] } = masked;
  return {
    keeps: (kind) => kinds.has(kind),
    masks: (kind) => (masked[kind] ?? []).length > 0,
    maskInputs: (values) => maskedInputs(values, inputs, pseudonym),
    maskOutput: (output) => withoutFileKeys(maskedOutput(output, outputs, pseudonym), pseudonym),
    pseudonym,
  };
};

type Change<Value, Data> = (value: Value, hiding: Hiding, data: Data) => Value;

interface ContentRule<Value, Data> {
  /** It is content of this kind. */
  readonly content: ContentKind;
  /** What is in its place where the kind is not kept. */
  readonly without: Change<Value, Data> | 'left_out';
  /** What is kept of it; all when this is left out. */
  readonly kept?: Change<Value, Data>;
}

/** `within`: its members have rules of their own. */
export type Rule<Value, Data = object> =
  | 'kept'
  | ContentRule<Value, Data>
  | { readonly within: (value: Value, hiding: Hiding) => Value };

type OptionalRule<Value, Data> = Rule<Value, Data> | 'left_out';

/** Each member has a rule, so that the compiler asks for the one of a new member. Only an optional one may be left out. */
export type Rules<Data> = {
  readonly [Member in keyof Data]-?: Data extends Record<Member, unknown>
    ? RequiredRule<Data[Member], Data>
    : OptionalRule<Exclude<Data[Member], undefined>, Data>;
};

type RequiredRule<Value, Data> =
  | Exclude<Rule<Value, Data>, ContentRule<Value, Data>>
  | (ContentRule<Value, Data> & { readonly without: Change<Value, Data> });

/** A member without a rule, which a later release wrote, is left out. */
export const hidden = <Data extends object>(rules: Rules<Data>, data: Data, hiding: Hiding): Data => {
  // The compiler cannot follow the type of each member.
  const ruleOf = rules as Readonly<Record<string, OptionalRule<unknown, Data>>>;
  const shown: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(data)) {
    const rule = Object.hasOwn(ruleOf, name) ? ruleOf[name] : undefined;
    if (rule === undefined || rule === 'left_out') continue;
    if (rule === 'kept') shown[name] = value;
    else if ('within' in rule) shown[name] = rule.within(value, hiding);
    else if (hiding.keeps(rule.content)) shown[name] = rule.kept ? rule.kept(value, hiding, data) : value;
    else if (rule.without !== 'left_out') shown[name] = rule.without(value, hiding, data);
  }
  return shown as Data;
};

/** Of the members that every event about a run has. */
export const ENVELOPE_RULES = {
  type: 'kept',
  version: 'kept',
  event_id: 'kept',
  run_id: 'kept',
  org_id: 'kept',
  time: 'kept',
  writer: 'kept',
  correlation_id: { content: 'traces', without: () => 'left_out' },
  causation_id: 'kept',
  traceparent: { content: 'traces', without: () => null },
} as const;
