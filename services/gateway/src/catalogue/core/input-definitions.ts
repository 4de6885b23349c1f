import type { WorkflowInput } from '@runledger/contracts/catalogue/records';
import type { NewInputDefinition } from '@runledger/contracts/http/catalogue/workflow-versions';
import type { JsonValue } from '@runledger/contracts/json';

export interface DefinitionProblem {
  readonly index: number;
  readonly member: 'name' | 'default';
  readonly why: string;
}

/** What is wrong with the names of input definitions, and with their defaults. */
export const definitionProblems = (
  definitions: Iterable<readonly [index: number, definition: NewInputDefinition]>,
): DefinitionProblem[] => {
  const problems: DefinitionProblem[] = [];
  const names = new Map<string, number>();
  for (const [index, definition] of definitions) {
    const first = names.get(definition.name);
    if (first === undefined) names.set(definition.name, index);
    else
      problems.push({
        index,
        member: 'name',
        why: `input ${first} has this name already. Name each input once`,
      });
    const value = definition.default ?? null;
    if (value !== null && !isOfType(definition.type, value)) {
      const why = `the default is not of the type of this input, which is ${definition.type}`;
      problems.push({ index, member: 'default', why });
    }
  }
  return problems;
};

const isOfType = (type: WorkflowInput['type'], value: JsonValue): boolean => {
  switch (type) {
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type;
    case 'integer':
      return Number.isInteger(value);
    case 'array':
      return Array.isArray(value);
  }
};

/** Definitions as a version stores them: without omitted members. */
export const inputDefinitions = (
  definitions: readonly NewInputDefinition[] | null | undefined,
): WorkflowInput[] =>
  (definitions ?? []).map(({ name, type, required, default: value, description }) => ({
    name,
    type,
    required: required ?? false,
    ...(value === undefined || value === null ? {} : { default: value }),
    ...(typeof description === 'string' ? { description } : {}),
  }));
