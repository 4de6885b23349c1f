import { COMFYUI_HARNESS, NODE_HARNESS, PYTHON_HARNESS } from './generated/harness-texts.ts';

export interface Harness {
  /** The texts of files in a folder beside the code, by their names. */
  readonly files: Readonly<Record<string, string>>;
  /** Started in the folder of the code. `{harness}` in it stands for the path of the folder with those files. */
  readonly command: readonly string[];
}

/** What starts the ComfyUI of the machine, with an argument behind these. */
export const COMFYUI_LAUNCHER: Harness = {
  files: COMFYUI_HARNESS,
  command: ['python', '{harness}/runledger_comfyui.py'],
};

/** What makes a function of a folder, such as `predict.py:predict`, a resident program. */
export const harnessFiles = (run: string): Harness =>
  /\.py:[^:]*$/.test(run)
    ? { files: PYTHON_HARNESS, command: ['python', '{harness}/runledger_harness.py', run] }
    : { files: NODE_HARNESS, command: ['node', '{harness}/harness.mjs', run] };
