import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { programFile } from '@runledger/service-kit/program-file';

/** The folder with the packages of the workspaces. */
const rootOf = (folder: string): string =>
  existsSync(join(folder, 'node_modules/@runledger')) ? folder : rootOf(dirname(folder));

const HERE = dirname(fileURLToPath(import.meta.url));
/** Where Runledger is installed. */
export const INSTALLATION = rootOf(HERE);

const SOURCE = join(HERE, '../supervision/supervisor.ts');

/** What a supervisor runs. */
export const supervisorFile = (): string => programFile(SOURCE);

/** Of the installation this alone is in the view of a program, because its supervisor needs it to start. All of it is public. */
export const supervisorCode = (): readonly string[] => {
  const modules = join(INSTALLATION, 'node_modules');
  const file = supervisorFile();
  const code = file === SOURCE ? sourceCode(modules) : [file];
  return [process.execPath, ...code, ...packagesOf('koffi')];
};

/** The folder of a package of the installation, and of what it is made of. */
export const packagesOf = (name: 'koffi'): readonly string[] =>
  [name, '@koromix'].map((folder) => join(INSTALLATION, 'node_modules', folder));

const sourceCode = (modules: string): string[] => [
  HERE,
  join(HERE, '../supervision'),
  join(HERE, '../view'),
  join(HERE, '../../package.json'),
  ...['@runledger/contracts/json', '@runledger/resilience/backoff'].flatMap(codeOf),
  // The reader of JSON, which the first of them loads.
  dirname(fileURLToPath(import.meta.resolve('@runledger/contracts/json'))),
  join(modules, '@runledger'),
];

const codeOf = (name: string): string[] => {
  const file = fileURLToPath(import.meta.resolve(name));
  return [file, join(dirname(file), '../package.json')];
};
