/** docs/export.md from the columns of an export. */
import { RUN_COLUMNS } from '@runledger/cli/runs/run-columns';

const TYPES = {
  text: 'text',
  number: 'number (DOUBLE)',
  integer: 'integer (INT64)',
  boolean: 'true or false',
  time: 'time (milliseconds, UTC)',
  list: 'list (JSON)',
} as const;

export const exportPage = (): string => {
  const rows = RUN_COLUMNS.map(
    ({ name, type, description }) => `| \`${name}\` | ${TYPES[type]} | ${description} |`,
  );
  return `# Columns of an export

Generated from \`apps/cli/src/runs/run-columns.ts\` by \`npm run docs\`.

\`npx runledger export --format parquet --since 2026-05-01 --output runs.parquet\` writes a row for each run that was queued since then, newest first, for DuckDB, pandas, Spark or a
warehouse. \`--format ndjson\`, the default, writes one JSON object a line, with times as ISO 8601. \`--until\`, \`--status\`, \`--deployment\`, \`--workflow\`,
\`--schedule\`, \`--gpu\`, \`--origin\`, \`--tag\` and \`--search\` choose runs. It needs an API key with the scope \`runs:read\`, and reads page after page: 100 runs for each request against the rate limit of the key. A
run that has not ended is exported as it is then; deleted runs are not in it.

Columns are never renamed and keep their types. Later releases add some at the end.

| column | type | holds |
|---|---|---|
${rows.join('\n')}
`;
};
