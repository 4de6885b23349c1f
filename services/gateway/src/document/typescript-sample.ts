import { literalIn, queuedIn, type Json, type SampleRequest } from './sample-request.ts';

/** A program with `@runledger/client`. */
export const typescriptSample = (request: SampleRequest): string => {
  const lines = (BY_HAND[request.id] ?? derived)(request);
  const imports = lines.some((line) => line.includes('fileFrom('))
    ? ["import { fileFrom } from '@runledger/client/node';"]
    : [];
  return [
    "import { Runledger } from '@runledger/client';",
    ...imports,
    '',
    'const client = new Runledger(); // RUNLEDGER_URL and RUNLEDGER_API_KEY',
    ...lines,
  ].join('\n');
};

type Lines = (request: SampleRequest) => readonly string[];

/** What the client does more than send one request. */
const BY_HAND: Readonly<Record<string, Lines>> = {
  queueRun: ({ body }) => {
    const { deployment_id, inputs } = queuedIn(body);
    return [
      `const { run_id } = await client.runs.queue(${literal(deployment_id)}, ${literal(inputs)});`,
      'const run = await client.runs.wait(run_id);',
      'console.log(run.status, run.outputs);',
    ];
  },
  getRun: ({ params }) => [
    `const run = await client.runs.get(${literal(params['run_id'])});`,
    'console.log(run.status, run.progress);',
  ],
  cancelRun: ({ params }) => [
    `const { outcome } = await client.runs.cancel(${literal(params['run_id'])});`,
    'console.log(outcome);',
  ],
  rerunRun: ({ params }) => [
    `const { run_id } = await client.runs.rerun(${literal(params['run_id'])});`,
    'console.log(run_id);',
  ],
  watchRun: ({ params }) => [
    `for await (const { event, data } of client.subscribe(${literal(params['run_id'])})) {`,
    '  console.log(event, data);',
    '}',
  ],
  getRunLogs: ({ params }) => [
    `for await (const item of client.runs.logs(${literal(params['run_id'])}, { follow: true })) {`,
    '  console.log(item);',
    '}',
  ],
  listRuns: () => [
    "for await (const run of client.runs.list({ status: ['failed'] })) {",
    '  console.log(run.id, run.created_at);',
    '}',
  ],
  uploadFile: () => [
    "const file = await client.files.upload(await fileFrom('fox.png'));",
    'console.log(file.id);',
  ],
};

const derived: Lines = (request) => {
  const { method, path, answer, body } = request;
  const place = `${literal(method)}, ${literal(path)}`;
  const options = optionsOf(request, place.length + BEFORE_PLACE);
  const given = options === '' ? place : `${place}, ${options}`;
  const file =
    body !== undefined && 'file' in body ? [`const file = await fileFrom(${literal(body.file)});`] : [];
  switch (answer) {
    case 'nothing':
      return [...file, `await client.request(${given});`];
    case 'bytes':
      return [
        ...file,
        `const response = await client.fetch(${given});`,
        'for await (const bytes of response.body ?? []) {',
        '  console.log(bytes.length);',
        '}',
      ];
    case 'json':
    case 'pages':
      return [...file, `const response = await client.request(${given});`, 'console.log(response);'];
  }
};

/** `const response = await client.request(`. */
const BEFORE_PLACE = 40;

/** `before`: the columns in front of it. */
const optionsOf = ({ params, query, headers, body }: SampleRequest, before: number): string => {
  const given: Record<string, Json> = Object.fromEntries(
    Object.entries({ params, query, headers }).filter(([, values]) => Object.keys(values).length > 0),
  );
  if (body === undefined) return Object.keys(given).length === 0 ? '' : literal(given, 0, before);
  if ('json' in body) return literal({ ...given, body: body.json }, 0, before);
  return literal({ ...given, body: FILE }, 0, before).replace(literal(FILE), 'file');
};

/** Stands for the variable. */
const FILE = 'the file';

const literal = literalIn({
  text: (text) => quoted(text),
  key: (name) => (/^[A-Za-z_]\w*$/.test(name) ? name : quoted(name)),
  word: String,
  indent: '  ',
  pad: ' ',
});

const quoted = (text: string): string =>
  `'${JSON.stringify(text)
    .slice(1, -1)
    .replaceAll(String.raw`\"`, '"')
    .replaceAll("'", String.raw`\'`)}'`;
