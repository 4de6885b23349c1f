import { literalIn, queuedIn, type SampleRequest } from './sample-request.ts';

/** A program with `runledger`. */
export const pythonSample = (request: SampleRequest): string => {
  const lines = (BY_HAND[request.id] ?? derived)(request);
  const used = lines.join('\n');
  return [
    ...(used.includes('Path(') ? ['from pathlib import Path', ''] : []),
    `from runledger import Runledger${used.includes('operations.') ? ', operations' : ''}`,
    '',
    'with Runledger() as client:  # RUNLEDGER_URL and RUNLEDGER_API_KEY',
    ...lines.map((line) => `    ${line}`),
  ].join('\n');
};

type Lines = (request: SampleRequest) => readonly string[];

/** What the client does more than send one request. */
const BY_HAND: Readonly<Record<string, Lines>> = {
  queueRun: ({ body }) => {
    const { deployment_id, inputs } = queuedIn(body);
    return [
      `queued = client.runs.queue(${literal(deployment_id)}, ${literal(inputs)})`,
      'run = client.runs.wait(queued["run_id"])',
      'print(run["status"], run["outputs"])',
    ];
  },
  getRun: ({ params }) => [
    `run = client.runs.get(${literal(params['run_id'])})`,
    'print(run["status"], run["progress"])',
  ],
  cancelRun: ({ params }) => [
    `cancelled = client.runs.cancel(${literal(params['run_id'])})`,
    'print(cancelled["outcome"])',
  ],
  rerunRun: ({ params }) => [
    `queued = client.runs.rerun(${literal(params['run_id'])})`,
    'print(queued["run_id"])',
  ],
  watchRun: ({ params }) => [
    `for event in client.subscribe(${literal(params['run_id'])}):`,
    '    print(event)',
  ],
  getRunLogs: ({ params }) => [
    `for item in client.runs.logs(${literal(params['run_id'])}, follow=True):`,
    '    print(item)',
  ],
  listRuns: () => [
    'for run in client.runs.list(status="failed"):',
    '    print(run["id"], run["created_at"])',
  ],
  uploadFile: () => ['file = client.files.upload(Path("fox.png"))', 'print(file["id"])'],
};

const derived: Lines = (request) => {
  const operation = `operations.${snake(request.id)}(${argumentsOf(request).join(', ')})`.split('\n');
  switch (request.answer) {
    case 'nothing':
      return within('client.call(', operation, ')');
    case 'bytes':
      return [...within('for content in client.stream(', operation, '):'), '    print(len(content))'];
    case 'pages':
      return [...within('for item in client.each(', operation, '):'), '    print(item)'];
    case 'json':
      return [...within('response = client.call(', operation, ')'), 'print(response)'];
  }
};

const within = (before: string, lines: readonly string[], after: string): string[] =>
  `${before}${lines.join('\n')}${after}`.split('\n');

const argumentsOf = ({ id, params, query, headers, body }: SampleRequest): string[] => {
  const places = Object.values(params).map((value) => literal(value));
  const before = BEFORE_ARGUMENTS + id.length + places.join(', ').length;
  return [
    ...places,
    ...(body === undefined
      ? []
      : ['json' in body ? literal(body.json, 0, before) : `Path(${literal(body.file)}).read_bytes()`]),
    ...Object.entries({ ...query, ...headers }).map(([name, value]) => `${snake(name)}=${literal(value)}`),
  ];
};

/** `    response = client.call(operations.(`. */
const BEFORE_ARGUMENTS = 40;

/** The name that the generator of the client gives: `getRun`, `Upload-Length`. */
const snake = (name: string): string =>
  name
    .replaceAll('-', '_')
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_')
    .toLowerCase()
    .replaceAll('__', '_');

const literal = literalIn({
  text: JSON.stringify,
  key: JSON.stringify,
  word: (value) => (value === null ? 'None' : value ? 'True' : 'False'),
  indent: '    ',
  pad: '',
});
