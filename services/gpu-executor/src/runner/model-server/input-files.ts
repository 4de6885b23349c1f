import type { RunnerWork } from '../../runners/runner.ts';

/** The files of an input: their names in the input folder, in the order of the input. */
export interface FilesOfInput {
  readonly names: readonly string[];
  /** It is a list of files, also with one or none. */
  readonly isList: boolean;
}

/** The inputs of a run that are files, as their definitions say: a text that is the name of a file stays a text. */
export const inputFiles = ({
  inputs,
  fileInputs,
}: Pick<RunnerWork, 'inputs' | 'fileInputs'>): ReadonlyMap<string, FilesOfInput> =>
  new Map(fileInputs.map((input) => [input, filesOf(inputs[input])]));

const filesOf = (value: unknown): FilesOfInput => {
  const isList = Array.isArray(value);
  const values: readonly unknown[] = isList ? value : [value];
  return { names: values.filter((name) => typeof name === 'string'), isList };
};
