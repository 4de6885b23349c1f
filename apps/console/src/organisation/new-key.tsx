import { DialogButton } from '../ui/dialog-button.tsx';
import { Form, NameField } from '../ui/form.tsx';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import type { Schemas } from '../api/schemas.ts';
import { useMay } from '../session/use-session.ts';
import { CopyButton } from '../ui/copy-button.tsx';

/** A button, and the form behind it. */
export const NewKey = (): ReactNode => (
  <DialogButton title="New API key" button="New key">
    {(close) => <KeyForm onDone={close} />}
  </DialogButton>
);

const SCOPES = [
  ['runs:read', 'reads runs'],
  ['runs:write', 'also queues, cancels and repeats runs'],
  ['admin', 'also deploys, and manages keys'],
] as const;

const DAY_MS = 86_400_000;

const KeyForm = ({ onDone }: { readonly onDone: () => void }): ReactNode => {
  const may = {
    'runs:read': useMay('runs:read'),
    'runs:write': useMay('runs:write'),
    admin: useMay('admin'),
  };
  const create = useMutation({
    mutationFn: async (body: Schemas['NewApiKey']) => answered(api.POST('/api-keys', { body })),
  });
  const submit = (text: (name: string) => string): void => {
    const days = Number(text('days'));
    const scope = SCOPES.find(([name]) => name === text('scope'))?.[0] ?? 'runs:read';
    create.mutate({
      name: text('name'),
      scopes: [scope],
      ...(days > 0 && { expires_at: new Date(Date.now() + days * DAY_MS).toISOString() }),
    });
  };
  if (create.data) return <MadeKey apiKey={create.data.key} onDone={onDone} />;
  return (
    <Form button="Make the key" sending={create} onSubmit={submit}>
      <NameField label="Name: what will use it" />
      <label className="field">
        Scope
        <select name="scope" defaultValue={may['runs:write'] ? 'runs:write' : 'runs:read'}>
          {SCOPES.filter(([name]) => may[name]).map(([name, words]) => (
            <option value={name} key={name}>
              {name}: {words}
            </option>
          ))}
        </select>
      </label>
      <label className="field">
        Expires
        <select name="days" defaultValue="90">
          <option value="7">in 7 days</option>
          <option value="30">in 30 days</option>
          <option value="90">in 90 days</option>
          <option value="365">in a year</option>
          <option value="0">never</option>
        </select>
      </label>
    </Form>
  );
};

const MadeKey = ({ apiKey, onDone }: { readonly apiKey: string; readonly onDone: () => void }): ReactNode => (
  <div className="stack">
    <p role="status">This is the key. It is shown only now: copy it to where it is used.</p>
    <pre tabIndex={0}>{apiKey}</pre>
    <div className="row">
      <CopyButton text={apiKey} label="Copy the key" />
      <button type="button" className="primary" onClick={onDone}>
        I have it
      </button>
    </div>
  </div>
);
