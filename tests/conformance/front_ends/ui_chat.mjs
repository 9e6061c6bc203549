// Uses a chat as `useChat` does: says texts and answers questions, in the order of the actions, and prints what it has.
import { AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai';

class State {
  status = 'ready';
  error = undefined;
  messages = [];
  pushMessage = message => { this.messages = [...this.messages, message]; };
  popMessage = () => { this.messages = this.messages.slice(0, -1); };
  replaceMessage = (index, message) => { this.messages = this.messages.with(index, structuredClone(message)); };
  snapshot = value => structuredClone(value);
}
class Chat extends AbstractChat {}

const [, , api, ...actions] = process.argv;
const errors = [];
const chat = new Chat({
  id: 'chat-1',
  transport: new DefaultChatTransport({ api }),
  state: new State(),
  onError: error => errors.push(String(error)),
  sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
});
const asked = () => chat.lastMessage.parts.filter(part => part.state === 'approval-requested');
const answered = () => chat.lastMessage.parts.some(part => part.state === 'approval-responded');
const moment = () => new Promise(resolve => setTimeout(resolve, 5));
const log = [];
for (const action of actions.map(text => JSON.parse(text))) {
  if (action.say) await chat.sendMessage({ text: action.say });
  if (action.resume) await chat.resumeStream();
  if (action.regenerate) await chat.regenerate();
  if (action.rewrite) await chat.sendMessage({ messageId: chat.messages[0].id, text: action.rewrite });
  if (action.stop) { // while the answer streams
    const sending = chat.sendMessage({ text: action.stop });
    while (!chat.lastMessage?.parts.some(part => part.type === 'text' && part.state === 'streaming')) await moment();
    await chat.stop();
    await sending;
  }
  for (const answer of action.answers ?? []) {
    await chat.addToolApprovalResponse({ id: asked()[0].approval.id, ...answer });
  }
  while (action.answers && !asked().length && (answered() || chat.status !== 'ready') && !errors.length) await moment(); // it sends them itself
  if (action.twice) { // the last answers again, from another tab
    const messages = log.at(-2);
    for (const part of messages.at(-1).parts.filter(part => part.state === 'approval-requested')) {
      Object.assign(part, { state: 'approval-responded', approval: { ...part.approval, approved: true } });
    }
    const body = JSON.stringify({ id: 'chat-1', messages });
    const response = await fetch(api, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    errors.push(`${response.status} ${await response.text()}`);
  }
  log.push(structuredClone(chat.messages));
}
console.log(JSON.stringify({ messages: chat.messages, errors, status: chat.status, log }));
