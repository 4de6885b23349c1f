/** `npm run verify` runs this check: no file has the marks that git leaves between the versions of an unresolved merge. */
import { openRepository, type Repository } from './repository.ts';

/** A line of git, or the same line as the formatter writes it in Markdown: after a backslash, or in a cell of a table. */
const MARK = /^[\s\\|]*(?:<{7}|={7}|>{7}|\|{7})(?:\s|$)/;
/** The formatter takes `>>>>>>>` for seven quotations inside each other. */
const MARK_AS_QUOTATION = /^\s*(?:> ){6}>(?:\s|$)/;

/** One sentence for each marked line. */
export const conflictMarks = ({ files, read }: Repository): string[] =>
  files.flatMap((file) =>
    read(file)
      .split('\n')
      .flatMap((line, index) =>
        MARK.test(line) || MARK_AS_QUOTATION.test(line)
          ? [
              `${file}:${index + 1} is a mark of a merge conflict. Keep what both sides meant, then delete the marks.`,
            ]
          : [],
      ),
  );

if (import.meta.main) {
  const found = conflictMarks(openRepository());
  for (const sentence of found) console.error(sentence);
  if (found.length > 0) process.exitCode = 1;
}
