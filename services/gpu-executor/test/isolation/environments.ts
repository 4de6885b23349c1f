import { chmodSync, copyFileSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** An interpreter that reads a file of its library: it works only where it finds that. It is a shell, which every machine has. */
export interface Interpreter {
  readonly home: string;
  readonly file: string;
}

export const write = (path: string, text: string, mode = 0o644): string => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode });
  chmodSync(path, mode);
  return path;
};

export const link = (path: string, target: string): string => {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path);
  return path;
};

/** As an installed Python: `bin/python3.12` and `lib/python3.12`. */
export const installed = (home: string): Interpreter => {
  const file = join(home, 'bin/python3.12');
  mkdirSync(dirname(file), { recursive: true });
  copyFileSync(realpathSync('/bin/sh'), file);
  chmodSync(file, 0o755);
  link(join(home, 'bin/python3'), 'python3.12');
  write(join(home, 'lib/python3.12/os.py'), 'its library');
  return { home, file };
};

/** As uv makes them: the environment leads to a minor version, which is a link to the folder of a patch version. */
export const uvEnvironment = (folder: string): { readonly python: string; readonly library: string } => {
  const versions = join(folder, '.local/share/uv/python');
  installed(join(versions, 'cpython-3.12.11-linux-x86_64-gnu'));
  const minor = link(join(versions, 'cpython-3.12-linux-x86_64-gnu'), 'cpython-3.12.11-linux-x86_64-gnu');
  const environment = join(folder, 'project/.venv');
  write(join(environment, 'pyvenv.cfg'), `home = ${minor}/bin\nimplementation = CPython\nuv = 0.9.0\n`);
  const python = link(join(environment, 'bin/python'), `${minor}/bin/python3.12`);
  link(join(environment, 'bin/python3'), 'python');
  return { python, library: `${minor}/lib/python3.12/os.py` };
};
