import { isFileInputType } from '@runledger/contracts/catalogue/file-inputs';
import type { WorkflowInput } from '@runledger/contracts/catalogue/records';
import type { JsonObject } from '@runledger/contracts/json';
import type { NewRun } from './queue-run.ts';

/** The names of the inputs that are files; with the inputs of a run, of those that it has. */
export const fileInputsOf = (definitions: readonly WorkflowInput[], inputs?: JsonObject): string[] =>
  definitions.flatMap(({ name, type }) =>
    isFileInputType(type) && (inputs === undefined || Object.hasOwn(inputs, name)) ? [name] : [],
  );

/** The run with files that are kept. */
export const withFiles = (run: NewRun, names: readonly string[], inputs: NewRun['inputs']): NewRun => {
  const { file_inputs: _before, ...settings } = run.settings;
  return {
    settings: names.length === 0 ? settings : { ...settings, file_inputs: [...names] },
    inputs,
  };
};
