// What a run of tests has shown, from the JSON report of vitest: the counts, what failed, and what passed only on its second try.
import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { root } from './node24.mjs';

const MAX_LINES = 10;
const MAX_LINE_LENGTH = 300;
const FRAME_OF_TOOL = /^ +at .*(node_modules|node:|<anonymous>)/;

export const NO_RESULT = { passed: 0, failed: 0, failures: [], repeated: [], skipped: 0, status: 0 };

/** The result of a run of vitest that wrote this report and ended with this status. */
export const readResult = (path, status) => {
  const report = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
  const files = report?.testResults ?? [];
  const passed = report?.numPassedTests ?? 0;
  const skipped = (report?.numPendingTests ?? 0) + (report?.numTodoTests ?? 0);
  const failures = [...brokenFiles(files), ...namedTests(files, ({ status }) => status === 'failed')];
  // A test that has passed keeps the errors of its first try.
  const repeated = namedTests(files, (test) => test.status === 'passed' && test.failureMessages.length > 0);
  const counted = failures.length;
  const ranNothing = passed + counted === 0;
  const failed = counted === 0 && (status !== 0 || ranNothing) ? 1 : counted;
  return { passed, failed, failures, repeated, skipped, status: status === 0 && failed > 0 ? 1 : status };
};

/** The sum of several results. */
export const sumOf = (results) =>
  results.reduce((sum, each) => ({
    passed: sum.passed + each.passed,
    failed: sum.failed + each.failed,
    failures: [...sum.failures, ...each.failures],
    repeated: [...sum.repeated, ...each.repeated],
    skipped: sum.skipped + each.skipped,
    status: sum.status === 0 ? each.status : sum.status,
  }));

/** Prints the last lines of a test run and sets the exit code of this process. */
export const printResult = ({ passed, failed, failures, repeated, skipped, status }) => {
  for (const { name, error } of repeated) console.log(`Passed on its second try: ${name}${indented(error)}`);
  for (const { name, error } of failures) console.log(`Failed: ${name}${indented(error)}`);
  if (repeated.length > 0)
    console.log(`${repeated.length} passed only on a second try. Each is a defect: see above.`);
  if (skipped > 0) console.log(`${skipped} skipped: see the reasons above.`);
  if (passed + skipped === 0 && failed <= 1) console.log('No test ran. Check the names of the files.');
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = status;
};

/** A file that fails to load has no tests, and an error outside of tests belongs to no test. */
const brokenFiles = (files) =>
  files
    .filter(
      (file) => file.status === 'failed' && file.assertionResults.every((test) => test.status !== 'failed'),
    )
    .map(({ name, message }) => ({ name: relative(root, name), error: message }));

const namedTests = (files, isWanted) =>
  files.flatMap(({ name, assertionResults }) =>
    assertionResults.filter(isWanted).map(({ fullName, failureMessages }) => ({
      name: `${relative(root, name)} > ${fullName}`,
      error: failureMessages[0] ?? '',
    })),
  );

/** The first lines of an error, without the frames of the tools. */
const indented = (error) =>
  stripVTControlCharacters(error)
    .split('\n')
    .filter((line) => line.trim() !== '' && !FRAME_OF_TOOL.test(line))
    .slice(0, MAX_LINES)
    .map((line) => `\n    ${line.slice(0, MAX_LINE_LENGTH)}`)
    .join('');
