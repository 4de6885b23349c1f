import { EXPORT_API, isEditorWorkflow } from '@runledger/contracts/catalogue/editor-workflow';
import { NewInputDefinition } from '@runledger/contracts/http/catalogue/workflow-versions';
import { jsonBytes, type JsonValue } from '@runledger/contracts/json';
import { MAX_WORKFLOW_BYTES } from '@runledger/contracts/limits';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { definitionProblems } from './core/input-definitions.ts';
import type { ExtraCheck } from '../http/operation.ts';
import { nestingProblems } from '../validation/nesting.ts';
import { invalid, Refused, type Invalid } from '../http/refusal.ts';
import { nearestName } from '../names/nearest-name.ts';
import { isRecord, own } from '../validation/node.ts';
import { EXTRA } from '../validation/pydantic-words.ts';

const MAX_INPUTS_BYTES = 64 * 1024;

/** What is wrong with a new workflow version beyond the types of its members. Refuses a version that is too large. */
export const checkNewVersion: ExtraCheck = ({ body }) => {
  const workflow = own(body, 'workflow');
  const inputs = own(body, 'inputs');
  const deep = [
    ...nestingProblems(workflow, ['body', 'workflow']),
    ...nestingProblems(inputs, ['body', 'inputs']),
  ];
  if (deep.length > 0) return deep;
  refuseLarger(workflow, MAX_WORKFLOW_BYTES, 'The workflow');
  refuseLarger(inputs, MAX_INPUTS_BYTES, 'The definitions of all inputs together');
  return [...formatProblems(workflow), ...unknownMembersOf(inputs), ...inputsProblems(inputs, workflow)];
};

const formatProblems = (workflow: JsonValue | undefined): Invalid[] =>
  isEditorWorkflow(workflow)
    ? [invalid(['body', 'workflow', 'nodes'], 'value_error', `Value error, ${EXPORT_API}`)]
    : [];

const KNOWN = Object.keys(NewInputDefinition.properties);
/** Of other systems, by which these are known. */
const ALSO_CALLED: Readonly<Record<string, string>> = { min: 'minimum', max: 'maximum' };

/** A bound that nobody reads would let every value through. */
const unknownMembersOf = (inputs: JsonValue | undefined): Invalid[] =>
  (Array.isArray(inputs) ? inputs : []).flatMap((definition: unknown, index) =>
    isRecord(definition)
      ? Object.keys(definition)
          .filter((member) => !KNOWN.includes(member))
          .map((member) => invalid(['body', 'inputs', index, member], EXTRA.type, unknownMember(member)))
      : [],
  );

const unknownMember = (member: string): string => {
  const nearest = nearestName(member, [...KNOWN, ...Object.keys(ALSO_CALLED)]);
  const meant = nearest === undefined ? undefined : (ALSO_CALLED[nearest] ?? nearest);
  return meant === undefined
    ? `${EXTRA.msg}: a definition has ${KNOWN.join(', ')}`
    : `${EXTRA.msg}; did you mean ${meant}?`;
};

const refuseLarger = (value: JsonValue | undefined, most: number, what: string): void => {
  if (value === undefined || jsonBytes(value) <= most) return;
  throw new Refused({ code: 'workflow_too_large', why: `${what} may have at most ${most} bytes as JSON` });
};

const definition = compiledSchema(NewInputDefinition);

/** Problems of the definitions that fit their schema. The schema reports the others. */
const inputsProblems = (inputs: JsonValue | undefined, workflow: JsonValue | undefined): Invalid[] => {
  const fitting = (Array.isArray(inputs) ? inputs : []).flatMap((value: unknown, index) =>
    definition.Check(value) ? [[index, value] as const] : [],
  );
  return definitionProblems(fitting, workflow).map(({ index, member, why }) =>
    invalid(['body', 'inputs', index, member], 'value_error', `Value error, ${why}`),
  );
};
