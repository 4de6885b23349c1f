import { useId, type ReactNode } from 'react';
import { FileField } from './file-field.tsx';
import { FileListField } from './file-list-field.tsx';
import { isFileInput, isFileListInput, type EnteredValue, type InputDefinition } from './form-inputs.ts';

interface InputFieldProps {
  readonly definition: InputDefinition;
  readonly value: EnteredValue;
  /** What is wrong with the value. */
  readonly problem: string | undefined;
  readonly onChange: (value: EnteredValue) => void;
}

/** A field for an input, as its type needs. */
export const InputField = ({ definition, value, problem, onChange }: InputFieldProps): ReactNode => {
  const { name, required, description, minimum, maximum, min_items, max_items } = definition;
  const id = useId();
  const bounds = [
    minimum === undefined ? '' : `at least ${minimum}`,
    maximum === undefined ? '' : `at most ${maximum}`,
    min_items === undefined ? '' : `at least ${itemsInWords(min_items)}`,
    max_items === undefined ? '' : `at most ${itemsInWords(max_items)}`,
  ];
  const hints = [
    (description ?? '').replace(/\.$/, ''),
    ...bounds,
    required && definition.default === undefined && !definition.random ? 'required' : '',
  ];
  const hint = hints.filter((one) => one !== '').join('; ');
  return (
    <div>
      <label htmlFor={id}>
        <span className="mono">{name}</span> {hint !== '' && <span className="quiet">({hint})</span>}
      </label>
      <div>
        <Control
          definition={definition}
          id={id}
          value={value}
          onChange={onChange}
          isWrong={problem !== undefined}
        />
      </div>
      {problem !== undefined && <p role="alert">{problem}</p>}
    </div>
  );
};

const itemsInWords = (count: number): string => (count === 1 ? '1 item' : `${count} items`);

interface ControlProps {
  readonly definition: InputDefinition;
  readonly id: string;
  readonly value: EnteredValue;
  readonly isWrong: boolean;
  readonly onChange: (value: EnteredValue) => void;
}

const Control = ({ definition, id, value, isWrong, onChange }: ControlProps): ReactNode => {
  const { type, secret } = definition;
  const isNeeded = definition.required && definition.default === undefined && !definition.random;
  const text = typeof value === 'string' ? value : '';
  if (type === 'boolean')
    return (
      <input
        id={id}
        type="checkbox"
        checked={value === true}
        onChange={({ target }) => onChange(target.checked)}
      />
    );
  if (isFileInput(definition)) return <FileField id={id} type={type} fileId={text} onChange={onChange} />;
  if (isFileListInput(definition))
    return (
      <FileListField
        id={id}
        type={type}
        files={Array.isArray(value) ? value.map(String) : []}
        onChange={onChange}
      />
    );
  if (definition.enum)
    return (
      <select id={id} value={text} required={isNeeded} onChange={({ target }) => onChange(target.value)}>
        {!isNeeded && <option value="">left out</option>}
        {definition.enum.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    );
  const common = {
    id,
    value: text,
    required: isNeeded,
    'aria-invalid': isWrong,
    autoComplete: 'off',
    onChange: ({ target }: { readonly target: { readonly value: string } }) => onChange(target.value),
  };
  if (secret) return <input type="password" {...common} />;
  if (type === 'string') return <textarea rows={text.length > 80 ? 4 : 1} cols={60} {...common} />;
  return <input inputMode={type === 'integer' || type === 'number' ? 'decimal' : 'text'} {...common} />;
};
