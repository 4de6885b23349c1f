import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** In the place of a checkout of ComfyUI: its `main.py`, with what runs need of it and no packages. */
export const COMFYUI_FOLDER = join(import.meta.dirname, 'comfyui');

/** The settings of an executor that has it; null where bubblewrap cannot be used: Landlock lets no ComfyUI listen. */
export const comfyuiSettings = (): Readonly<Record<string, string>> | null => {
  const tried = spawnSync('bwrap', ['--unshare-all', '--ro-bind', '/', '/', 'true'], { encoding: 'utf8' });
  if (tried.status !== 0) {
    const why = tried.error?.message ?? tried.stderr;
    process.stderr.write(`no tests with ComfyUI in a whole installation, without bubblewrap: ${why}\n`);
    return null;
  }
  const said = execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' });
  return { EXECUTOR_COMFYUI_FOLDER: COMFYUI_FOLDER, EXECUTOR_COMFYUI_PYTHON: said.trim() };
};
