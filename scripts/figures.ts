/**
 * `npm run figures` prints how the source is cut: for each workspace its files, folders and lines, and what a reader stumbles over.
 * Generated and vendored code (`.gitattributes`) and tests are not counted.
 */
import { execFileSync } from 'node:child_process';
import { dirname, posix } from 'node:path';
import { openRepository, type Repository } from './checks/repository.ts';

const SOURCE = /^((?:apps|packages|services)\/[^/]+)\/src\/.+\.(?:tsx?|py)$/;
/** The declaration of a type that only carries options or parts from one function to another. */
const OPTIONS_TYPE = /\b(?:interface|type) \w*(?:Options|Parts|Routes)\b(?:<.*>)? (?:=|\{|extends)/;
const PICKED = /\b(?:Pick|Omit)</;
/**
 * What opens the parts of the gateway and hands them to each other. `keeping/upkeep.ts` is not wiring: it decides what a gateway does by
 * itself, and how often. Neither are its settings, metrics and contract.
 */
const WIRING = ['kit', 'gateway', 'gateway-routes', 'start'] as const;

/** One line of the table. */
export interface Figures {
  readonly workspace: string;
  readonly files: number;
  readonly folders: number;
  readonly foldersWithOneFile: number;
  readonly lines: number;
  readonly linesWithPick: number;
  readonly optionTypes: number;
}

/** `isMade`: whether `.gitattributes` says that nobody wrote the file here. */
export const figuresOf = ({ files, read }: Repository, isMade: (file: string) => boolean): Figures[] => {
  const sources = Map.groupBy(
    files.filter((file) => SOURCE.test(file) && !isMade(file)),
    (file) => SOURCE.exec(file)?.[1] ?? '',
  );
  return [...sources].map(([workspace, files]) => {
    const folders = [...Map.groupBy(files, dirname).values()];
    const lines = files.flatMap((file) => read(file).replace(/\n$/, '').split('\n'));
    return {
      workspace,
      files: files.length,
      folders: folders.length,
      foldersWithOneFile: folders.filter((each) => each.length === 1).length,
      lines: lines.length,
      linesWithPick: lines.filter((line) => PICKED.test(line)).length,
      optionTypes: lines.filter((line) => OPTIONS_TYPE.test(line)).length,
    };
  });
};

const linesOf = (text: string): number => text.replace(/\n$/, '').split('\n').length;

export const wiringLines = ({ read }: Repository): number =>
  WIRING.reduce((sum, name) => sum + linesOf(read(`services/gateway/src/${name}.ts`)), 0);

/** Different names of source files in the walk through the code. */
export const filesOfTheWalk = ({ read }: Repository): number =>
  new Set(read('docs/walk.md').match(/`[^`]+\.ts`/g)).size;

/** Asks git once, for all files. */
const madeFiles = (files: readonly string[]): ReadonlySet<string> => {
  const attributes = ['linguist-generated', 'linguist-vendored'];
  const answer = execFileSync('git', ['check-attr', '-z', '--stdin', ...attributes], {
    cwd: posix.join(import.meta.dirname, '..'),
    input: files.join('\0'),
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  }).split('\0');
  // Three fields for each: file, attribute, value.
  return new Set(answer.filter((_, index) => index % 3 === 0 && answer[index + 2] === 'true'));
};

const COLUMNS = ['workspace', 'files', 'folders', 'with one file', 'lines', 'Pick/Omit', 'option types'];

const table = (figures: readonly Figures[]): string => {
  const rows = [COLUMNS, ...figures.map((each) => Object.values(each).map(String))];
  const widths = COLUMNS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ');
  return rows.map(line).join('\n');
};

const total = (figures: readonly Figures[]): Figures => {
  const sum = (of: (each: Figures) => number): number => figures.reduce((all, each) => all + of(each), 0);
  return {
    workspace: 'all',
    files: sum(({ files }) => files),
    folders: sum(({ folders }) => folders),
    foldersWithOneFile: sum(({ foldersWithOneFile }) => foldersWithOneFile),
    lines: sum(({ lines }) => lines),
    linesWithPick: sum(({ linesWithPick }) => linesWithPick),
    optionTypes: sum(({ optionTypes }) => optionTypes),
  };
};

if (import.meta.main) {
  const repository = openRepository();
  const made = madeFiles(repository.files);
  const figures = figuresOf(repository, (file) => made.has(file));
  console.log(table([...figures, total(figures)]));
  console.log(
    `\nWiring of the gateway (${WIRING.map((name) => `${name}.ts`).join(', ')}): ${wiringLines(repository)} lines.`,
  );
  console.log(`Files that docs/walk.md names: ${filesOfTheWalk(repository)}.`);
  console.log('Import cycles: none; npm run verify fails at one, types included.');
}
