// Sends one message after the other to a server, as `useChat` does, and prints the messages it then has.
import { DefaultChatTransport, readUIMessageStream } from 'ai';

const [, , api, ...texts] = process.argv;
const transport = new DefaultChatTransport({ api });
const messages = [], errors = [];
for (const text of texts) {
  messages.push({ id: `m${messages.length}`, role: 'user', parts: [{ type: 'text', text }] });
  const stream = await transport.sendMessages({ chatId: 'chat-1', messages, trigger: 'submit-message' });
  let last;
  for await (const message of readUIMessageStream({ stream, onError: error => errors.push(String(error)) })) last = message;
  messages.push(last);
}
console.log(JSON.stringify({ messages, errors }));
